package main

import (
	"slices"

	"github.com/jvsfs/jvsfs/gate"
)

// process names a process for good: numbers are given again.
type process struct {
	pid   int
	start uint64 // clock ticks after boot
}

// writer is who was refused, as it was at that moment. It is all numbers that stay
// true after the process has ended.
type writer struct {
	process
	uid          uint32
	command      string // as the kernel has it (comm)
	group        int    // process group
	session      int
	sessionStart uint64    // of the session's leader, 0 if that had ended
	above        []process // its ancestors, the parent first
}

// ancestorsKept bounds what is read and kept of a writer's ancestors: a shell, a few
// build tools and a terminal. Deeper trees are found by their group and session.
const ancestorsKept = 16

// writerOf looks at the process behind a request. What cannot be seen stays empty.
// Only stat and status are read: they take no lock of the caller's memory, which
// the request itself may hold.
func writerOf(r *gate.Resolver, c gate.Caller) writer {
	w := writer{uid: c.UID}
	id, err := r.Identify(c)
	if err != nil {
		return w
	}
	w.process = process{id.PID, id.Start}
	w.session, w.sessionStart = id.Session, id.SessionStart
	st, err := gate.ReadStat(id.PID)
	if err != nil {
		return w
	}
	w.command, w.group = printable(st.Comm), st.Group
	for parent := st.PPID; parent > 0 && len(w.above) < ancestorsKept; parent = st.PPID {
		if st, err = gate.ReadStat(parent); err != nil {
			break
		}
		w.above = append(w.above, process{parent, st.Start})
	}
	return w
}

// below reports whether the writer is the process or one of its descendants, or in
// the process group that it made: a descendant that lost its parents stays there.
func (w writer) below(p process) bool {
	same := func(q process) bool { return q.pid == p.pid && (p.start == 0 || q.start == p.start) }
	return same(w.process) || w.group == p.pid || slices.ContainsFunc(w.above, same)
}

// inSessionOf reports whether the writer was in the session of a process.
func (w writer) inSessionOf(id gate.Identity) bool {
	return id.Session != 0 && w.session == id.Session &&
		(w.sessionStart == id.SessionStart || w.sessionStart == 0 || id.SessionStart == 0)
}
