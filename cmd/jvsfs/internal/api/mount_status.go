package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// Shape says what a source is.
type Shape string

// The shapes.
const (
	ShapeRepository Shape = "repository" // has .jvs; guards main and worktrees/<name>
	ShapeWorktree   Shape = "worktree"   // one worktree of a repository
	ShapeDirectory  Shape = "directory"  // any other directory
)

// States of a worktree that more than one room asks for; gate.Status has them all.
const (
	StateFree = "free"
	StateHeld = "held"
)

// MountStatus is one mount in `status --json`; the names are a promise.
type MountStatus struct {
	Mountpoint string           `json:"mountpoint"`
	Source     string           `json:"source,omitempty"`
	Device     string           `json:"device"`
	State      string           `json:"state"` // serving, dead, silent or forbidden
	Detail     string           `json:"detail,omitempty"`
	Next       string           `json:"next,omitempty"` // what to do about a mount that does not serve
	PID        int              `json:"pid,omitempty"`
	Since      *time.Time       `json:"since,omitempty"`
	Shape      Shape            `json:"shape,omitempty"`
	Layout     layout.Name      `json:"layout,omitempty"`     // what one lease covers
	Repository string           `json:"repository,omitempty"` // of git, if it was named
	Worktree   lease.WorktreeID `json:"worktree,omitempty"`   // the one of a mount that has one
	Locks      string           `json:"locks,omitempty"`
	Audit      string           `json:"audit,omitempty"`
	Local      bool             `json:"local,omitempty"` // the fence holds on this machine only
	Store      *StoreStatus     `json:"store,omitempty"` // of the records, if several hosts use their file system
	EnforceStatus
	Lease          int64               `json:"lease_duration_ms,omitempty"`
	Metrics        string              `json:"metrics,omitempty"` // where they are served
	Worktrees      []gate.Status       `json:"worktrees,omitempty"`
	Statistics     json.RawMessage     `json:"statistics,omitempty"`
	RecentRefusals []RefusalView       `json:"recent_refusals,omitempty"`
	Parts          []PartRule          `json:"parts,omitempty"`   // the rules that give directories leases of their own
	Rules          []tenure.View       `json:"rules,omitempty"`   // their locks that are not free, or were not in the last hour
	Windows        []tenure.WindowView `json:"windows,omitempty"` // for maintenance, that are open
	Version        string              `json:"version,omitempty"` // of the daemon's binary
}

// StoreStatus is a file system for several hosts and what it means; the names are a promise.
type StoreStatus struct {
	Engine   string `json:"engine"`
	Tier     string `json:"tier"`
	SilentMS int64  `json:"silent_host_ms"` // a host that says nothing keeps its lease for so long at least

	Authority string `json:"authority,omitempty"` // who keeps the leases, if not the records there

	RelyOnFence bool `json:"rely_on_fence,omitempty"` // the fence agents alone keep late writes out
}

// Text is a sentence for people.
func (s StoreStatus) Text() string {
	if s.RelyOnFence {
		return s.text() + "; what was written is durable after fsync, and the fence agents of the other hosts alone keep late writes out (rely_on_fence): jvsfs-fence(7)"
	}
	return s.text()
}

func (s StoreStatus) text() string {
	if s.Authority != "" {
		late := "a write of it that lands later is reported, but may have overwritten its successor's"
		if s.Tier == "B" {
			late = "before another takes it over, the fence agent cuts that host off the store"
		}
		return fmt.Sprintf("leases in %s, files on %s, tier %s: a host that falls silent keeps its lease for %s; %s: jvsfs-hosts(7)",
			s.Authority, s.Engine, s.Tier, human.Span(time.Duration(s.SilentMS)*time.Millisecond), late)
	}
	return fmt.Sprintf("records on %s, tier %s: a host that falls silent keeps its lease for %s or longer; a write of it that lands later is reported, but may have overwritten its successor's: jvsfs-hosts(7)",
		s.Engine, s.Tier, human.Span(time.Duration(s.SilentMS)*time.Millisecond))
}

// PartRule is a rule with taken_by: lease; the names are a promise.
type PartRule struct {
	Rule   string   `json:"rule"`
	Guards string   `json:"guards"`
	Except []string `json:"except,omitempty"`
}

// EnforceStatus is the mode in `status --json` and `enforce --json`; the names are a
// promise.
type EnforceStatus struct {
	Enforce    gate.Enforce `json:"enforce,omitempty"`
	Configured gate.Enforce `json:"enforce_configured,omitempty"` // the mode after a restart
	SwitchedAt *time.Time   `json:"enforce_switched_at,omitempty"`
	SwitchedBy string       `json:"enforce_switched_by,omitempty"`
	InFlight   int64        `json:"unguarded_in_flight"` // writes that observe let in, or outside of all worktrees
}

// ModeText is the mode, and the mode after a restart if that differs.
func (s EnforceStatus) ModeText() string {
	text := string(s.Enforce)
	if s.SwitchedAt != nil {
		text += fmt.Sprintf(" (since %s by %s", human.Clock(*s.SwitchedAt), human.Printable(s.SwitchedBy))
		if s.Configured != s.Enforce {
			text += fmt.Sprintf("; configured: %s", s.Configured)
		}
		text += ")"
	}
	return text
}

// LeaseLeft is how long the lease of a worktree lasts unless renewed, 0 if nobody holds it: how long its holder may
// write, for a lease that is held here, else until its record says that it ends.
func LeaseLeft(w gate.Status, now time.Time) time.Duration {
	switch {
	case w.State == StateHeld:
		return time.Duration(w.TimeLeftMS) * time.Millisecond
	case w.ExpiresAt != nil:
		return max(w.ExpiresAt.Sub(now), 0)
	}
	return 0
}
