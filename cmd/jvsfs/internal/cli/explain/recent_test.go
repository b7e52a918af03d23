package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/refusals"
	"github.com/jvsfs/jvsfs/gate"
)

func refusedAt(path, class string, at time.Time) refusals.Located {
	return refusals.Located{RefusalView: api.RefusalView{At: at, PID: 9, Command: "make", Class: class, Count: 1, Sentence: "held by h", Next: "wait"}, Mountpoint: "/m", Path: path}
}

func standing(path, class string) api.Explanation {
	return api.Explanation{Explanation: gate.Explanation{Path: path, PID: 7, Class: "E_LOCK_NOT_HELD", Allowed: class == "", Errno: "EROFS", Sentence: "nobody holds it"}}
}

// The exit code is that of the latest refusal, then of a worktree, then of a mount that
// is dead under the process's feet.
func TestExitCodeOfWhatWasRefused(t *testing.T) {
	now := time.Now()
	dead := &api.Failure{Class: api.ClassNoMount, Message: "dead"}
	observed := refusedAt("/m/b", "E_LOCK_CONFLICT", now)
	observed.WouldRefuse = true
	for name, c := range map[string]struct {
		r    recentReport
		want api.ExitCode
	}{
		"nothing":                {recentReport{}, api.ExitOK},
		"a refusal":              {recentReport{Refusals: []refusals.Located{refusedAt("/m/a", "E_LOCK_EXPIRED", now.Add(-time.Second)), refusedAt("/m/b", "E_LOCK_CONFLICT", now)}, stuck: dead}, api.ExitConflict},
		"an observed one":        {recentReport{Refusals: []refusals.Located{observed}}, api.ExitOK},
		"a worktree":             {recentReport{Worktrees: []api.Explanation{standing("/m/a", ""), standing("/m/b", "E_LOCK_NOT_HELD")}, stuck: dead}, api.ExitNotHeld},
		"a dead mount elsewhere": {recentReport{Silent: []*api.Failure{dead}}, api.ExitOK},
		"a dead mount here":      {recentReport{Silent: []*api.Failure{dead}, stuck: dead}, api.ExitNoMount},
	} {
		require.Equal(t, c.want, c.r.exit(), name)
	}
}

func TestTextOfWhatWasRefused(t *testing.T) {
	now := time.Now()
	r := recentReport{PID: 7, SinceMS: 10000}
	require.Equal(t, "no write of this session was refused in the last 10s\n", r.text(true, now))
	require.Equal(t, "no write of process 7 was refused in the last 10s\n", r.text(false, now))
	r.Ended = true
	require.Contains(t, r.text(false, now), "process 7 has ended")

	r.Refusals = []refusals.Located{refusedAt("/m/a", "E_LOCK_NOT_HELD", now.Add(-2*time.Second))}
	r.Worktrees = []api.Explanation{standing("/m/a", "E_LOCK_NOT_HELD"), standing("/m/b", "E_LOCK_NOT_HELD")}
	r.Incomplete = true
	here, elsewhere := &api.Failure{Message: "this is dead", Next: "recover it"}, &api.Failure{Message: "that\x1b is dead"}
	r.Silent, r.stuck = []*api.Failure{here, elsewhere}, here
	require.Equal(t, `1 write of make was refused in /m/a (E_LOCK_NOT_HELD, 2s ago)
  held by h
  next: wait
there were more refusals than the mount remembers
now: /m/a: a write by process 7 would be refused with EROFS (E_LOCK_NOT_HELD), for the same reason
now: /m/b: a write by process 7 would be refused with EROFS (E_LOCK_NOT_HELD)
  nobody holds it
jvsfs: this is dead
next: recover it
note: that? is dead
`, r.text(true, now))
}
