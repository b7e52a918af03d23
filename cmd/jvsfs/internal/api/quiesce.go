package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Quiesce asks for a window in which nothing changes in a worktree. The answer says that it is open. It is open
// until the client sends one more byte, whose answer says whether it was kept. A client that hangs up instead
// breaks it.
type Quiesce struct {
	Where
	WaitMS  int64  `json:"wait_ms,omitempty"`  // for writes in flight
	LastsMS int64  `json:"lasts_ms,omitempty"` // how long writers wait at most
	Command string `json:"command,omitempty"`  // for people
}

// MaxWindow bounds how long writers wait for the end of one window.
const MaxWindow = 10 * time.Minute

// Op is the operation's name.
func (Quiesce) Op() string { return "quiesce" }

// Patient is true: it drains.
func (Quiesce) Patient() bool { return true }

// Validate refuses values that no client sends.
func (r Quiesce) Validate() error {
	if r.LastsMS < 0 || r.LastsMS > MaxWindow.Milliseconds() {
		return fmt.Errorf("%w: a window of %d ms", ErrRequest, r.LastsMS)
	}
	return errors.Join(r.Where.Validate(), milliseconds("wait", r.WaitMS), atMost("command", r.Command, 1024))
}

// Window is the answer that a window is open.
type Window struct {
	Since time.Time   `json:"since"`
	Until time.Time   `json:"until"` // it ends by itself
	Token lease.Token `json:"fencing_token"`
}

// WindowOutcome is what the audit chain says of a window's end.
func WindowOutcome(err error) string {
	switch f := AsFailure(err); {
	case f == nil:
		return "kept"
	case f.Class == lease.ClassPartialSnapshot:
		return "broken"
	}
	return "unavailable"
}
