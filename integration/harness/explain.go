package harness

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
)

// Explanation is what explain --json says (a part of it).
type Explanation struct {
	Worktree, Path, Class, Errno, Sentence, Next, Mountpoint string
	PID                                                      int
	Allowed, Mounted                                         bool
	WouldRefuse                                              bool   `json:"would_refuse"`
	NotPermitted                                             string `json:"not_permitted"`
	Holder                                                   *struct {
		ID        string `json:"holder_id"`
		Scope     string
		Token     uint64    `json:"fencing_token"`
		Since     time.Time `json:"since"`
		ExpiresAt time.Time `json:"lease_expires_at"`
	}
	Status WorktreeStatus
}

// Explain runs explain --json for a process and a path.
func (m *Mount) Explain(pid int, path string) (x Explanation, exit int) {
	m.T.Helper()
	out, errs, exit := m.CLI("explain", "--json", "--pid", strconv.Itoa(pid), path)
	require.NoError(m.T, json.Unmarshal([]byte(out), &x), "%s%s", out, errs)
	return x, exit
}
