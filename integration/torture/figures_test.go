package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

func TestTakeoversWithAHeldWriteAreCounted(t *testing.T) {
	real := plan.Realtime() - plan.Monotonic()
	grant := func(token uint64, host, pid int, at int64) plan.Record {
		return plan.Record{Kind: plan.KindBegin, Token: token, Host: host, PID: pid, Wall: at + real}
	}
	const second = int64(1e9)
	hold := func(what string, host int, token uint64) event {
		return event{host: host, where: "admitted.Write", what: what, begin: 2 * second, end: 5 * second, worktree: "main", token: token}
	}
	acked := func(begin int64) *call { return &call{Kind: callAppend, Token: 1, Begin: begin, Result: resultOK} }
	for name, c := range map[string]struct {
		events       []event
		calls        []*call
		all, stopped int
	}{
		"nothing held":                    {},
		"the daemon stopped":              {events: []event{hold("stopping", 0, 1), hold("stop", 0, 1)}, all: 1, stopped: 1},
		"the daemon died while stopped":   {events: []event{hold("stopping", 0, 1)}, all: 1, stopped: 1},
		"a thread held":                   {events: []event{hold("long", 0, 1)}, calls: []*call{acked(second)}, all: 1},
		"a short one":                     {events: []event{hold("short", 0, 1)}},
		"another host":                    {events: []event{hold("stop", 1, 1)}},
		"another token":                   {events: []event{hold("stop", 0, 7)}},
		"the lease went on after it":      {events: []event{hold("stop", 0, 1)}, calls: []*call{acked(6 * second)}},
		"held after the grant of the new": {events: []event{{where: "admitted.Write", what: "stop", begin: 8 * second, end: 9 * second, worktree: "main", token: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			of := &tree{place: place{ID: "main"}, evidence: evidence{Calls: c.calls, Log: []plan.Record{grant(1, 0, ann, second), grant(2, 1, bob, 7*second)}}}
			h := &history{trees: []*tree{of}, events: c.events}
			all, stopped := h.takeoversHeld(of)
			require.Equal(t, []int{c.all, c.stopped}, []int{all, stopped})
		})
	}
}

func TestEachFailpointBelongsToItsStep(t *testing.T) {
	for point, step := range map[string]string{
		"claim.before_look": "claim", "claim.record.fsync.after": "claim", "claim.after_publish": "publish", "publish.dir.fsync.before": "publish",
		"renew.record.write.after": "renew", "withdraw.rename.before": "release", "release.before_write": "release",
		"record.write.before": "", "lose.before_close": "", "admitted.Write": "", "process": "",
	} {
		require.Equal(t, step, stepOf(point), point)
	}
}

func TestFiguresOfSeveralRunsAddUp(t *testing.T) {
	one := runFigures{1, []runHead{{Seed: 1, Tier: "a"}}, map[string]*tierFigures{"a": newTierFigures()}}
	one.Tiers["a"].Figures["histories"] = 2
	name := filepath.Join(t.TempDir(), "one.json")
	require.NoError(t, one.save(name))
	all := runFigures{Version: 1, Tiers: map[string]*tierFigures{}}
	require.NoError(t, all.addFile(name))
	require.NoError(t, all.addFile(name))
	require.Equal(t, 4, all.Tiers["a"].Figures["histories"])
	require.Len(t, all.Runs, 2)
	require.True(t, all.clean())
	all.Tiers["a"].Violations[badStale] = 1
	require.False(t, all.clean())
	require.Error(t, all.addFile(filepath.Join(t.TempDir(), "none")))
}
