package lock

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// robbed is what a steal says of a record.
func robbed(t *testing.T, change func(*record.Record)) string {
	t.Helper()
	now := time.Now()
	rec := &record.Record{HolderID: "far:ann:4242:7", HolderNonce: "n", FencingToken: 12, Purpose: "make", Scope: "tree", CreatedAt: now.Add(-time.Hour),
		LastRenewedAt: now.Add(-time.Minute), LeaseExpiresAt: now.Add(-30 * time.Second), LockID: "l", WorktreeID: "main", SessionID: "s"}
	change(rec)
	raw, err := json.Marshal(rec)
	require.NoError(t, err)
	return robbedText(api.LockStatus{Worktree: "main", State: "stealable", Record: raw}, now)
}

func TestAStealSaysAllThatIsKnownOfTheHolder(t *testing.T) {
	text := robbed(t, func(*record.Record) {})
	for _, part := range []string{"the lease of main is stealable", "far:ann:4242:7", "host     far\n", "make", "token    12", "30s ago", "4242 cannot be seen from here"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "nonce")
	require.Contains(t, robbed(t, func(r *record.Record) { r.Auto = true }), "taken by writing")
	require.Contains(t, robbed(t, func(r *record.Record) { r.HolderID = "far:ann:0:0" }), "none is bound")
	require.Equal(t, 9, strings.Count(robbed(t, func(r *record.Record) { r.Purpose = "\x1b[2J\nSteal it? [y/N] y" }), "\n"), "a record cannot draw on the terminal")
}

// Whether the holder's process lives is known on its own machine alone.
func TestAStealSaysWhetherTheProcessLives(t *testing.T) {
	r := gate.NewResolver(lease.SystemClock())
	defer r.Close()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	h, err := r.HolderFor(os.Getpid(), gate.ScopeTree, "")
	require.NoError(t, err)
	require.Contains(t, processText(h), "is alive")
	h.PID = ended.Process.Pid
	require.Contains(t, processText(h), "has ended")
	h.BootID = "another"
	require.Contains(t, processText(h), "cannot be seen")
}
