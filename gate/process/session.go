package process

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SessionLiveness says whether a session whose leader has ended still has a process. known is a
// member that was found before, left the one found now.
func SessionLiveness(ofLeader, known ID) (live Liveness, left ID) {
	sid, start := ofLeader.PID, ofLeader.Start
	if known.PID != 0 {
		st, err := ReadStat(known.PID)
		if err == nil && st.Start == known.Start && st.Session == sid && known.Liveness() == Alive {
			return Alive, known
		}
	}
	leader, err := ReadStat(sid)
	if err == nil && (leader.Start != start || start == 0) || !numberInUse(sid) {
		return Gone, ID{} // the number is free, or another process has it
	}
	for range searches {
		live, left := searchSession(sid)
		if live != Gone || !numberInUse(sid) {
			return live, left
		}
	}
	if err != nil && !seesAll() {
		return Alive, ID{} // who uses the number is not visible to this process
	}
	return Gone, ID{} // zombies use the number
}

// searches is how often all processes are searched while the number is in use. A search misses a
// process that forked and ended meanwhile, and also its child.
const searches = 3

// searchSession searches all processes for members of a session.
func searchSession(sid int) (Liveness, ID) {
	stopped := ID{}
	for _, pid := range All() {
		st, err := ReadStat(pid)
		if err != nil || st.Session != sid || st.Ended() {
			continue
		}
		p := ID{pid, st.Start}
		switch p.Liveness() {
		case Alive, Unknown:
			return Alive, p
		case Stopped:
			stopped = p
		}
	}
	if stopped != (ID{}) {
		return Stopped, stopped
	}
	return Gone, ID{}
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
