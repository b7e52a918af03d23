package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/gate"
)

// shape says what a source is.
type shape string

const (
	shapeRepository shape = "repository" // has .jvs; guards main and worktrees/<name>
	shapeWorktree   shape = "worktree"   // one worktree of a repository
	shapeDirectory  shape = "directory"  // any other directory
)

const (
	stateFree = "free"
	stateHeld = "held"
)

// mountStatus is one mount in `status --json`; the names are a promise.
type mountStatus struct {
	Mountpoint string     `json:"mountpoint"`
	Source     string     `json:"source,omitempty"`
	Device     string     `json:"device"`
	State      string     `json:"state"` // serving, dead, silent or forbidden
	Detail     string     `json:"detail,omitempty"`
	Next       string     `json:"next,omitempty"` // the way out of a mount that does not serve
	PID        int        `json:"pid,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	Shape      shape      `json:"shape,omitempty"`
	Locks      string     `json:"locks,omitempty"`
	Audit      string     `json:"audit,omitempty"`
	Local      bool       `json:"local,omitempty"` // the fence holds on this machine only
	enforceStatus
	Lease          int64           `json:"lease_duration_ms,omitempty"`
	Metrics        string          `json:"metrics,omitempty"` // where they are served
	Worktrees      []gate.Status   `json:"worktrees,omitempty"`
	Statistics     json.RawMessage `json:"statistics,omitempty"`
	RecentRefusals []refusalView   `json:"recent_refusals,omitempty"`
	Version        string          `json:"version,omitempty"` // of the daemon's binary
}

// enforceStatus is the mode in `status --json` and `enforce --json`; the names are a
// promise.
type enforceStatus struct {
	Enforce    gate.Enforce `json:"enforce,omitempty"`
	Configured gate.Enforce `json:"enforce_configured,omitempty"` // what a restart goes back to
	SwitchedAt *time.Time   `json:"enforce_switched_at,omitempty"`
	SwitchedBy string       `json:"enforce_switched_by,omitempty"`
	InFlight   int64        `json:"unguarded_in_flight"` // let in by observing, or where no worktree is
}

// modeText says the mode, and what a restart would make of it where that differs.
func (s enforceStatus) modeText() string {
	text := string(s.Enforce)
	if s.SwitchedAt != nil {
		text += fmt.Sprintf(" (since %s by %s", clockText(*s.SwitchedAt), printable(s.SwitchedBy))
		if s.Configured != s.Enforce {
			text += fmt.Sprintf("; configured: %s", s.Configured)
		}
		text += ")"
	}
	return text
}

// leaseLeft is how long the lease of a worktree lasts unless renewed; 0 where nobody holds it.
func leaseLeft(w gate.Status, now time.Time) time.Duration {
	switch {
	case w.State == stateHeld:
		return time.Duration(w.TimeLeftMS) * time.Millisecond
	case w.ExpiresAt != nil:
		return max(w.ExpiresAt.Sub(now), 0)
	}
	return 0
}
