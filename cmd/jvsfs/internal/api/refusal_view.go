package api

import (
	"time"

	"github.com/jvsfs/jvsfs/gate"
)

// RefusalView is one kind of refusal as status, top and explain show it; the names are a promise. Equal
// refusals (the same process, worktree, operation and class) within a second are one view with a count.
type RefusalView struct {
	At          time.Time `json:"at"` // the latest of them
	Worktree    string    `json:"worktree_id"`
	PID         int       `json:"pid"` // in the daemon's pid namespace, 0 = not seen
	UID         uint32    `json:"uid"`
	Command     string    `json:"command,omitempty"` // of the process, as the kernel has it (comm)
	Op          string    `json:"op"`
	Class       string    `json:"class"`
	WouldRefuse bool      `json:"would_refuse,omitempty"` // only observed: it was not refused
	Count       uint64    `json:"count"`
	Sentence    string    `json:"sentence"`
	Next        string    `json:"next,omitempty"`
}

// RefusalAnswer is the daemon's answer about recent refusals.
type RefusalAnswer struct {
	Refusals   []RefusalView      `json:"refusals"`
	Incomplete bool               `json:"incomplete,omitempty"` // there were more than the daemon remembers
	Worktrees  []gate.Explanation `json:"worktrees,omitempty"`  // may the process write there now?
	Paths      map[string]string  `json:"paths,omitempty"`      // of the worktrees of the refusals
}

// AlikeWithin is how long equal refusals are counted as one.
const AlikeWithin = time.Second
