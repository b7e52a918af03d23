package process

import "errors"

// ID names a process: its number alone may be another one's later.
type ID struct {
	PID   int
	Start uint64 // clock ticks after boot
}

// Identity is a resolved process. A pid is not enough, because pids are reused: the start time goes
// with it.
type Identity struct {
	PID          int    // the process of the thread that called, 0 if not visible
	Start        uint64 // of the process, clock ticks after boot
	PPID         int
	Session      int    // id of the POSIX session, see sessionOf
	SessionStart uint64 // of the session's leader, 0 if it has ended
	UID          uint32 // file system user id of the call
}

// ID is what tells the process from all others.
func (id Identity) ID() ID { return ID{id.PID, id.Start} }

// ErrUnseen says that the caller has no pid in the daemon's pid namespace.
var ErrUnseen = errors.New("the process is in a pid namespace that is not visible here")

// identify reads the identity of a thread. uid is what the kernel said of the request.
func identify(tid int, uid uint32) (Identity, error) {
	id := Identity{UID: uid}
	if tid == 0 {
		return id, ErrUnseen
	}
	pid, err := readTgid(tid)
	if err != nil {
		return id, err
	}
	st, err := ReadStat(pid)
	if err != nil {
		return id, err
	}
	id.PID, id.Start, id.PPID = pid, st.Start, st.PPID
	id.Session, id.SessionStart = sessionOf(pid, st, ReadStat)
	return id, nil
}

// IdentityOf reads the identity of a process, with the file system user id that it has now.
func IdentityOf(pid int) (Identity, error) {
	uid, err := UIDOf(pid)
	if err != nil {
		return Identity{}, err
	}
	return identify(pid, uid)
}

// sessionOf returns the session of a process, and when its leader started (0 if the leader has
// ended).
//
// A session that was made outside of this pid namespace has the number 0 in it (nsenter, unshare
// -p, sandboxes that do not call setsid). There may be several such sessions. The topmost ancestor
// in the same session stands for the leader and tells them apart.
func sessionOf(pid int, st Stat, stat func(int) (Stat, error)) (session int, start uint64) {
	switch st.Session {
	case 0:
		return unseenSession(pid, st, stat)
	case pid:
		return pid, st.Start
	}
	if leader, err := stat(st.Session); err == nil && leader.Session == st.Session {
		start = leader.Start
	}
	return st.Session, start
}

func unseenSession(pid int, st Stat, stat func(int) (Stat, error)) (top int, start uint64) {
	for range ancestorsMax {
		above, err := stat(st.PPID)
		if st.PPID == 0 || err != nil || above.Session != 0 {
			break
		}
		pid, st = st.PPID, above
	}
	return pid, st.Start
}
