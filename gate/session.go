package gate

import (
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// sessionLiveness says whether a session whose leader has ended still has a process. known is a
// member that was found before.
func sessionLiveness(key string, known process) (lease.Liveness, process) {
	sid, start, ok := parseSessionKey(key)
	if !ok || sid == 0 {
		return lease.Gone, process{} // without a key its members cannot be found
	}
	if known.pid != 0 {
		st, err := ReadStat(known.pid)
		if err == nil && st.Start == known.start && st.session == sid && known.liveness() == lease.Alive {
			return lease.Alive, known
		}
	}
	leader, err := ReadStat(sid)
	if err == nil && (leader.Start != start || start == 0) || !numberInUse(sid) {
		return lease.Gone, process{} // the number is free, or another process has it
	}
	for range searches {
		live, left := searchSession(sid)
		if live != lease.Gone || !numberInUse(sid) {
			return live, left
		}
	}
	if err != nil && !seesAll() {
		return lease.Alive, process{} // who uses the number is not visible to this process
	}
	return lease.Gone, process{} // zombies use the number
}

// searches is how often all processes are searched while the number is in use. A search misses a
// process that forked and ended meanwhile, and also its child.
const searches = 3

// searchSession searches all processes for members of a session.
func searchSession(sid int) (lease.Liveness, process) {
	stopped := process{}
	for _, pid := range processes() {
		st, err := ReadStat(pid)
		if err != nil || st.session != sid || st.dead() {
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

// processes lists the pids of all processes.
func processes() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1) // names that were read before an error are valid
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// seesAll reports whether /proc shows other users' processes (hidepid).
func seesAll() bool {
	_, err := os.Stat("/proc/1/stat")
	return err == nil
}

// ownerGroup is F_OWNER_PGRP.
const ownerGroup = 2

// numberInUse reports whether a process, a process group or a session has a number. While one has
// it, the kernel does not reuse it. Only F_SETOWN_EX accepts a number that no process has any more.
// Source: fcntl(2); f_setown_ex in fs/fcntl.c.
func numberInUse(n int) bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return true // unknown
	}
	defer func() { _ = unix.Close(fd) }()
	owner := struct{ kind, pid int32 }{ownerGroup, int32(n)}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))
	return !errors.Is(errno, unix.ESRCH)
}
