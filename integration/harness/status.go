package harness

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// WorktreeStatus is what status --json says of one worktree (a part of it).
type WorktreeStatus struct {
	Worktree, State, Mode, Enforce, File, Detail string
	OnFree                                       string `json:"on_free"`
	Token                                        uint64 `json:"fencing_token"`
	HolderID                                     string `json:"holder_id"`
	Writes, Refusals                             uint64
	WouldRefuse                                  uint64 `json:"would_refuse"`
	Revoked                                      int
	Auto                                         bool
	WriteHandles                                 int64    `json:"write_handles"`
	LastRefusals                                 []string `json:"last_refusals"`
}

// WorktreeStatus asks status --json about a worktree of this mount; others may
// be mounted, too.
func (m *Mount) WorktreeStatus(id string) WorktreeStatus {
	m.T.Helper()
	type mounted struct {
		Mountpoint, Source, State string
		Worktrees                 []WorktreeStatus
	}
	var all struct{ Mounts []mounted }
	for began := time.Now(); ; { // beside a daemon that is stopped, a busy one may be late
		require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &all))
		late := slices.ContainsFunc(all.Mounts, func(one mounted) bool { return one.Mountpoint == m.Mountpoint && one.State == "silent" })
		if !late || time.Since(began) > Patience {
			break
		}
	}
	for _, one := range all.Mounts {
		if one.Mountpoint != m.Mountpoint {
			continue
		}
		require.Equal(m.T, "serving", one.State)
		for _, w := range one.Worktrees {
			if w.Worktree == id {
				return w
			}
		}
	}
	m.T.Fatalf("status does not show worktree %s of %s: %+v", id, m.Mountpoint, all)
	return WorktreeStatus{}
}

// Enforce switches the mode of the mount and returns what the command printed.
func (m *Mount) Enforce(mode string) string {
	m.T.Helper()
	return m.MustCLI("enforce", m.Mountpoint, mode)
}

// Modes is what status says of the mount's mode.
type Modes struct {
	Mountpoint, Enforce string
	Configured          string    `json:"enforce_configured"`
	SwitchedAt          time.Time `json:"enforce_switched_at"`
	SwitchedBy          string    `json:"enforce_switched_by"`
}

// Modes asks status --json for the mode of this mount.
func (m *Mount) Modes() Modes {
	m.T.Helper()
	var all struct{ Mounts []Modes }
	RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			return one
		}
	}
	m.T.Fatalf("status does not show %s", m.Mountpoint)
	return Modes{}
}

// InFlight counts what the daemon is in the middle of.
func (m *Mount) InFlight() (n int64) {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Unguarded  int64 `json:"unguarded_in_flight"`
			Worktrees  []struct {
				InFlight int64 `json:"in_flight"`
			}
		}
	}
	RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint != m.Mountpoint {
			continue
		}
		n += one.Unguarded
		for _, w := range one.Worktrees {
			n += w.InFlight
		}
	}
	return n
}
