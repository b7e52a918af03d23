package tenure

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// EventKind is what has happened to a lock.
type EventKind string

// The kinds.
const (
	Taken      EventKind = "rule_acquire"
	Released   EventKind = "rule_release"
	Broken     EventKind = "rule_break"    // taken away from its holder, or from nobody knows whom
	HolderGone EventKind = "rule_gone"     // its holder has ended
	Removed    EventKind = "rule_removed"  // its holder has ended, and the rule has its file removed
	Stays      EventKind = "rule_stays"    // that failed
	Unseen     EventKind = "rule_unknown"  // somebody took it who cannot be told
	Bypassed   EventKind = "rule_bypassed" // it was changed past the mount

	WindowOpened EventKind = "rule_window_open" // Window says which; what records it has done so before
	WindowClosed EventKind = "rule_window_close"
)

// Event is something that has happened to a lock.
type Event struct {
	Kind   EventKind
	Lock   *Lock       // nil: of a window
	Window *WindowView // nil: of a lock
	How    Ending      // of a window that is closed
	Holder lease.Holder
	Number uint64
	By     process.Caller
	Err    error
}

func (b *Book) tell(e Event) {
	if b.cfg.OnEvent != nil {
		b.cfg.OnEvent(e)
	}
}
