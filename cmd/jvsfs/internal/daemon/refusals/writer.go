package refusals

import (
	"slices"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Writer is the process that was refused, as it was at that moment. Its numbers stay true after the process has
// ended.
type Writer struct {
	process.ID
	uid          uint32
	command      string // as the kernel has it (comm)
	group        int    // process group
	session      int
	sessionStart uint64       // of the session's leader, 0 if that had ended
	above        []process.ID // its ancestors, the parent first
}

// ancestorsKept bounds what is read and kept of a writer's ancestors: a shell, a few
// build tools and a terminal. Deeper trees are found by their group and session.
const ancestorsKept = 16

// witness looks at writers. The commands of a build have the same ancestors, so ancestors are read only once a
// second. Safe for concurrent use.
type witness struct {
	resolver *gate.Resolver

	mu    sync.Mutex
	above map[process.ID]ancestors
}

type ancestors struct {
	list []process.ID
	read time.Time
}

// ancestorsFresh is how long the ancestors of a living process are cached. They change when one of them ends.
const ancestorsFresh = time.Second

func newWitness(r *gate.Resolver) *witness {
	return &witness{resolver: r, above: map[process.ID]ancestors{}}
}

// look looks at the process behind a request. Fields that cannot be seen stay empty. Only stat and status are
// read: they take no lock of the caller's memory, which the request itself may hold.
func (w *witness) look(c process.Caller) Writer {
	seen := Writer{uid: c.UID}
	id, err := w.resolver.Identify(c)
	if err != nil {
		return seen
	}
	seen.ID = id.ID()
	seen.session, seen.sessionStart = id.Session, id.SessionStart
	if st, err := process.ReadStat(id.PID); err == nil {
		seen.command, seen.group = human.Printable(st.Comm), st.Group
		seen.above = w.ancestorsOf(st)
	}
	return seen
}

// ancestorsOf lists a process's ancestors, the parent first.
func (w *witness) ancestorsOf(st process.Stat) []process.ID {
	parent := process.ID{PID: st.PPID}
	st, err := process.ReadStat(parent.PID)
	if err != nil {
		return nil
	}
	parent.Start = st.Start
	w.mu.Lock()
	known := w.above[parent]
	w.mu.Unlock()
	if now := time.Now(); now.Sub(known.read) >= ancestorsFresh {
		known = ancestors{list: process.Ancestors(parent, st, ancestorsKept), read: now}
		w.mu.Lock()
		if len(w.above) >= historyDepth {
			clear(w.above)
		}
		w.above[parent] = known
		w.mu.Unlock()
	}
	return known.list
}

// Below reports whether the writer is the process or one of its descendants, or is in the process group that
// the process made. A descendant that lost its parents stays in that group.
func (w Writer) Below(p process.ID) bool {
	same := func(q process.ID) bool { return q.PID == p.PID && (p.Start == 0 || q.Start == p.Start) }
	return same(w.ID) || w.group == p.PID || slices.ContainsFunc(w.above, same)
}

// InSessionOf reports whether the writer was in the session of a process.
func (w Writer) InSessionOf(id process.Identity) bool {
	return id.Session != 0 && w.session == id.Session &&
		(w.sessionStart == id.SessionStart || w.sessionStart == 0 || id.SessionStart == 0)
}
