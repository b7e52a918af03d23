package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/refusals"
)

func TestTheLineOfExecNamesTheRefusedWrites(t *testing.T) {
	one := func(command, path, class string, count uint64, at int64, observed bool) refusals.Located {
		return refusals.Located{RefusalView: api.RefusalView{At: time.Unix(at, 0), Command: command, PID: 9, Class: class, Count: count, WouldRefuse: observed,
			Sentence: "worktree b is being written by x", Next: "wait"}, Mountpoint: "/srv/repo", Path: path}
	}
	const b = "/srv/repo/worktrees/b"
	line := func(incomplete bool, all ...refusals.Located) string {
		return refusedLine(refusals.Actual(refusals.Summarise(all)), 90*time.Second, incomplete)
	}
	require.Empty(t, line(false))
	require.Empty(t, line(false, one("make", b, "E_LOCK_CONFLICT", 3, 1, true)), "what went through was not refused")
	require.Equal(t, "jvsfs: 1 write of make was refused in "+b+": worktree b is being written by x; next: wait\n",
		line(false, one("make", b, "E_LOCK_CONFLICT", 1, 1, false)))
	require.Equal(t, "jvsfs: at least 7 writes of cc1 were refused in "+b+": worktree b is being written by x; next: wait (and 3 more: jvsfs explain --since 1m31s)\n",
		line(true, one("cc1", b, "E_LOCK_CONFLICT", 3, 1, false), one("make", b, "E_LOCK_CONFLICT", 3, 2, false), one("cc1", b, "E_LOCK_CONFLICT", 4, 3, false)))
	require.Contains(t, line(false, refusals.Located{RefusalView: api.RefusalView{Count: 2, PID: 4}, Mountpoint: "/m", Path: "/m"}), "2 writes of process 4 were")
	require.Contains(t, line(false, refusals.Located{RefusalView: api.RefusalView{Count: 2}, Mountpoint: "/m", Path: "/m"}), "cannot see")
}
