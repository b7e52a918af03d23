package fusefs

import "time"

// A watched directory also reports the mount's own changes of names. Each change is noted before it is made, and then its event is not
// taken for somebody else's. If somebody else changes the same name at the same moment, the events may be mixed up; the kernel asks for the
// name in any case. A note lasts for noteLasts only: two renames onto one name may come as one event, and the second note must not hide a
// later change by somebody else.

// noteLasts is longer than an event takes on a machine that is not overloaded. A later event costs one more question of the kernel.
const noteLasts = 2 * time.Second

// ownNote is how often a name is being changed, and the latest time at which that began.
type ownNote struct {
	n  int
	at time.Time
}

// ownName is one change of a name that is about to be made.
type ownName struct {
	dir  *node // nil if it need not be noted
	name string
	n    int
}

// changing notes that the mount is about to change a name, which inotify reports in a number of events.
func changing(dir *node, name string, events int) ownName {
	dir.mayHave(name)
	if dir.watched.Load() != watchNames {
		return ownName{}
	}
	dir.mu.Lock()
	defer dir.mu.Unlock()
	if dir.ownNames == nil {
		dir.ownNames = make(map[string]ownNote)
	}
	now := time.Now()
	if note := dir.ownNames[name]; now.Sub(note.at) < noteLasts {
		dir.ownNames[name] = ownNote{note.n + events, now}
	} else {
		dir.ownNames[name] = ownNote{events, now}
	}
	return ownName{dir, name, events}
}

// unchanged takes the note back: the change was not made.
func (o ownName) unchanged() {
	for range o.n {
		o.dir.tookOwnName(o.name)
	}
}

// tookOwnName reports whether a change of a name was noted, once for each note.
func (n *node) tookOwnName(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, noted := n.ownNames[name]
	if note.n > 1 {
		n.ownNames[name] = ownNote{note.n - 1, note.at}
	} else {
		delete(n.ownNames, name)
	}
	return noted && time.Since(note.at) < noteLasts
}

// forgetOwnNames is called if no event will come for what was noted.
func (n *node) forgetOwnNames() {
	n.madeHere.Store(nil)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ownNames = nil
}

// forgetOwnNames is called if the kernel has lost events.
func (w *watcher) forgetOwnNames() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes.All((*node).forgetOwnNames)
}
