package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
)

func TestStatusPrintsMountsAndWorktrees(t *testing.T) {
	require.Equal(t, "no jvsfs mounts\n", statusText(nil, time.Now()))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := now.Add(12 * time.Second)
	text := statusText([]api.MountStatus{
		{Mountpoint: "/m", Source: "/s", State: "serving", PID: 9, EnforceStatus: api.EnforceStatus{Enforce: "enforce"}, Local: true, Worktrees: []gate.Status{
			{Worktree: "main", State: "held", Token: 3, HolderID: "h:u:1:2", Purpose: "build", ExpiresAt: &until, TimeLeftMS: 7000, Writes: 5, Refusals: 2},
			{Worktree: "a", State: "free"},
		}},
		{Mountpoint: "/d", State: "dead", Detail: "no answer"},
	}, now)
	require.Equal(t, `/m  serving  source /s  pid 9  enforce  fence local to this machine
  WORKTREE  STATE  TOKEN  HOLDER           LEFT  WRITES  REFUSED  WOULD REFUSE
  main      held   3      h:u:1:2 (build)  7s    5       2        0
  a         free   0      -                -     0       0        0

/d  dead
  no answer
`, text)
}
