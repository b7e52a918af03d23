package main

import (
	"testing"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/stretchr/testify/require"
)

func refusedAt(path, class string, at time.Time) locatedRefusal {
	return locatedRefusal{refusalView{At: at, PID: 9, Command: "make", Class: class, Count: 1, Sentence: "held by h", Next: "wait"}, "/m", path}
}

func standing(path, class string) explanation {
	return explanation{Explanation: gate.Explanation{Path: path, PID: 7, Class: "E_LOCK_NOT_HELD", Allowed: class == "", Errno: "EROFS", Sentence: "nobody holds it"}}
}

// The exit code is that of the latest refusal, then of a worktree, then of a mount that
// is dead under the process's feet.
func TestExitCodeOfWhatWasRefused(t *testing.T) {
	now := time.Now()
	dead := &failure{Class: classNoMount, Message: "dead"}
	observed := refusedAt("/m/b", "E_LOCK_CONFLICT", now)
	observed.WouldRefuse = true
	for name, c := range map[string]struct {
		r    recentReport
		want int
	}{
		"nothing":                {recentReport{}, exitOK},
		"a refusal":              {recentReport{Refusals: []locatedRefusal{refusedAt("/m/a", "E_LOCK_EXPIRED", now.Add(-time.Second)), refusedAt("/m/b", "E_LOCK_CONFLICT", now)}, stuck: dead}, exitConflict},
		"an observed one":        {recentReport{Refusals: []locatedRefusal{observed}}, exitOK},
		"a worktree":             {recentReport{Worktrees: []explanation{standing("/m/a", ""), standing("/m/b", "E_LOCK_NOT_HELD")}, stuck: dead}, exitNotHeld},
		"a dead mount elsewhere": {recentReport{Silent: []*failure{dead}}, exitOK},
		"a dead mount here":      {recentReport{Silent: []*failure{dead}, stuck: dead}, exitNoMount},
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

	r.Refusals = []locatedRefusal{refusedAt("/m/a", "E_LOCK_NOT_HELD", now.Add(-2*time.Second))}
	r.Worktrees = []explanation{standing("/m/a", "E_LOCK_NOT_HELD"), standing("/m/b", "E_LOCK_NOT_HELD")}
	r.Incomplete = true
	here, elsewhere := &failure{Message: "this is dead", Next: "recover it"}, &failure{Message: "that\x1b is dead"}
	r.Silent, r.stuck = []*failure{here, elsewhere}, here
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
