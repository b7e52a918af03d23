package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
)

func TestExplainPrintsTheReasonAndTheNextStep(t *testing.T) {
	now := time.Now()
	until := now.Add(3 * time.Second)
	x := api.Explanation{Mounted: true}
	x.Path, x.PID, x.Errno, x.Class, x.Sentence, x.Next = "/m/f", 7, "EROFS", "E_LOCK_CONFLICT", "held by h", "wait"
	x.Holder = &gate.HolderView{ID: "h:u:1:2", Scope: "tree", Token: 3, ExpiresAt: &until}
	text := explanationText(x, now)
	require.Contains(t, text, "/m/f: a write by process 7 would be refused with EROFS (E_LOCK_CONFLICT)\n  held by h\n")
	require.Contains(t, text, "holder: h:u:1:2, scope tree, token 3, until ")
	require.Contains(t, text, "(3s left)")
	require.Contains(t, text, "  next: wait\n")
	x.Status = gate.Status{State: "held", Token: 3, TimeLeftMS: 1500, ExpiresAt: &until}
	require.Contains(t, explanationText(x, now), "(1.5s left)", "what the sentence says, and not when the record ends")
	x.Allowed = true
	require.Contains(t, explanationText(x, now), "would pass")
	x.Path = "/m/\x1b[2Jf"
	require.NotContains(t, explanationText(x, now), "\x1b", "a name is no command to a terminal")
}
