package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/gate/tenure"
)

// OpenRule opens a maintenance window: for a while one holder, and nobody else, changes what rules protect at a path.
// Without a process the holder is the session of who asks. With one it is that process with its descendants, and the
// window belongs to the connection: it is closed when the client sends one more byte, or hangs up.
type OpenRule struct {
	Where
	Process
	LastsMS int64  `json:"lasts_ms"`
	Purpose string `json:"purpose,omitempty"` // for people
}

// CloseRule closes a maintenance window.
type CloseRule struct {
	Where
	Window uint64 `json:"window,omitempty"` // only this one, 0 = the one that is open there
}

// The bounds of how long a maintenance window may be open.
const (
	MinRuleWindow = time.Second
	MaxRuleWindow = 24 * time.Hour
)

// RuleWindow is what `rules open --json` and `rules close --json` print; the names are a promise.
type RuleWindow struct {
	tenure.WindowView
	Ended tenure.Ending `json:"ended,omitempty"` // how
}

// Op is the operation's name.
func (OpenRule) Op() string { return "rule_open" }

// Op is the operation's name.
func (CloseRule) Op() string { return "rule_close" }

// Patient is true: it drains.
func (OpenRule) Patient() bool { return true }

// Patient is true: it drains.
func (CloseRule) Patient() bool { return true }

// Validate refuses values that no client sends.
func (r OpenRule) Validate() error {
	if r.LastsMS < MinRuleWindow.Milliseconds() || r.LastsMS > MaxRuleWindow.Milliseconds() {
		return fmt.Errorf("%w: a window of %d ms", ErrRequest, r.LastsMS)
	}
	return errors.Join(r.Where.Validate(), r.Process.Validate(), atMost("purpose", r.Purpose, 1024))
}

// Validate refuses values that no client sends.
func (r CloseRule) Validate() error { return r.Where.Validate() }
