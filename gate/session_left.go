package gate

import (
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// sessionLiveness says whether anybody is left in a session whose leader has ended.
// known is who was found before.
func sessionLiveness(key string, known process) (lease.Liveness, process) {
	sid, start, ok := parseSessionKey(key)
	if !ok || sid == 0 {
		return lease.Gone, process{} // there was nobody else to tell its members by
	}
	if known.pid != 0 {
		st, err := ReadStat(known.pid)
		if err == nil && st.Start == known.start && st.Session == sid && known.liveness() == lease.Alive {
			return lease.Alive, known
		}
	}
	leader, err := ReadStat(sid)
	if err == nil && (leader.Start != start || start == 0) || !numberInUse(sid) {
		return lease.Gone, process{} // nobody keeps the number: it is free, or another's already
	}
	for range searches {
		live, left := searchSession(sid)
		if live != lease.Gone || !numberInUse(sid) {
			return live, left
		}
	}
	if err != nil && !seesAll() {
		return lease.Alive, process{} // who keeps the number is not for this process to see
	}
	return lease.Gone, process{} // it is kept by those that nobody has reaped
}

// searches is how often all processes are looked through while the number is kept: one
// that forked and ended during a search is missed by it, and so is its child.
const searches = 3

// searchSession looks through all processes for members of a session.
func searchSession(sid int) (lease.Liveness, process) {
	stopped := process{}
	for _, pid := range processes() {
		st, err := ReadStat(pid)
		if err != nil || st.Session != sid || st.dead() {
			continue
		}
		p := process{pid, st.Start}
		switch p.liveness() {
		case lease.Alive, lease.Unknown:
			return lease.Alive, p
		case lease.Stopped:
			stopped = p
		}
	}
	if stopped != (process{}) {
		return lease.Stopped, stopped
	}
	return lease.Gone, process{}
}

// processes lists the numbers of all processes.
func processes() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1) // what was read before an error is there
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// seesAll reports whether other users' processes are to be seen in /proc (hidepid).
func seesAll() bool {
	_, err := os.Stat("/proc/1/stat")
	return err == nil
}

// ownerGroup is F_OWNER_PGRP.
const ownerGroup = 2

// numberInUse reports whether a number is a process's, a process group's or a session's:
// the kernel gives it to nobody while it is. Only the owner of a descriptor's signals can
// be named by a number that no process has any more. Source: fcntl(2), F_SETOWN_EX; f_setown_ex
// in fs/fcntl.c.
func numberInUse(n int) bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return true // not known
	}
	defer func() { _ = unix.Close(fd) }()
	owner := struct{ kind, pid int32 }{ownerGroup, int32(n)}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))
	return !errors.Is(errno, unix.ESRCH)
}
