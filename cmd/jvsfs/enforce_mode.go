package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
)

// enforceMode is the mode of a mount: as it was configured, and as somebody has
// switched it since. It is not kept over a restart: the configuration decides.
type enforceMode struct {
	*gate.Enforcement
	configured gate.Enforce

	mu sync.Mutex
	at *time.Time // of the latest switch, nil if there was none
	by string
}

func newEnforceMode(configured gate.Enforce) *enforceMode {
	return &enforceMode{Enforcement: gate.NewEnforcement(configured), configured: configured}
}

func (m *enforceMode) switched(at time.Time, by string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.by = &at, by
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

func (m *enforceMode) status() enforceStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return enforceStatus{Enforce: m.Mode(), Configured: m.configured, SwitchedAt: m.at, SwitchedBy: m.by, InFlight: m.InFlight()}
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
