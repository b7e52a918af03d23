package fusefs

import "time"

// A watched directory also reports the mount's own changes of names. Each change is noted before it is made, and then its event is not
// taken for somebody else's. If somebody else changes the same name at the same moment, the events may be mixed up; the kernel asks for the
// name in any case. A note lasts for noteLasts only: two renames onto one name may come as one event, and the second note must not hide a
// later change by somebody else.

// noteLasts is longer than an event takes on a machine that is not overloaded. A later event costs one more question of the kernel.
const noteLasts = 2 * time.Second

// selfEventNote is how often a name is being changed, and the latest time at which that began.
type selfEventNote struct {
	n  int
	at time.Time
}

// selfEvent is one change of a name that is about to be made.
type selfEvent struct {
	dir  *node // nil if it need not be noted
	name string
	n    int
}

// changing notes that the mount is about to change a name, which inotify reports in a number of events.
func changing(dir *node, name string, events int) selfEvent {
	dir.mayHave(name)
	if dir.watched.Load() != watchNames {
		return selfEvent{}
	}
	dir.mu.Lock()
	defer dir.mu.Unlock()
	if dir.selfEvents == nil {
		dir.selfEvents = make(map[string]selfEventNote)
	}
	now := time.Now()
	if note := dir.selfEvents[name]; now.Sub(note.at) < noteLasts {
		dir.selfEvents[name] = selfEventNote{note.n + events, now}
	} else {
		dir.selfEvents[name] = selfEventNote{events, now}
	}
	return selfEvent{dir, name, events}
}

// unchanged takes the note back: the change was not made.
func (o selfEvent) unchanged() {
	for range o.n {
		o.dir.tookSelfEvent(o.name)
	}
}

// tookSelfEvent reports whether a change of a name was noted, once for each note.
func (n *node) tookSelfEvent(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, noted := n.selfEvents[name]
	if note.n > 1 {
		n.selfEvents[name] = selfEventNote{note.n - 1, note.at}
	} else {
		delete(n.selfEvents, name)
	}
	return noted && time.Since(note.at) < noteLasts
}

// forgetSelfEvents is called if no event will come for what was noted.
func (n *node) forgetSelfEvents() {
	n.knownNames.Store(nil)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.selfEvents = nil
}

// forgetSelfEvents is called if the kernel has lost events.
func (w *watcher) forgetSelfEvents() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes.All((*node).forgetSelfEvents)
}
