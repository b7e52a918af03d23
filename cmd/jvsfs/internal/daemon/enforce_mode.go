package daemon

import (
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
)

// enforceMode is the mode of a mount: the configured one, and the one to which somebody has switched it. A
// restart returns to the configured one.
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

func (m *enforceMode) status() api.EnforceStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return api.EnforceStatus{Enforce: m.Mode(), Configured: m.configured, SwitchedAt: m.at, SwitchedBy: m.by, InFlight: m.InFlight()}
}
