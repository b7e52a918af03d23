package daemon

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// names is a file system of which only the names are known.
type names struct {
	rule  layout.Rule
	in    bool // a worktree
	ready bool
}

func (n names) WorktreeOf(string) (lease.WorktreeID, bool) { return "main", n.in }
func (n names) RuleAt(string) *layout.Rule                 { return &n.rule }
func (n names) Where(string) gate.Where                    { return gate.Where{} }
func (n names) Shared(string) bool                         { return false }
func (n names) Ready(string) bool                          { return n.ready }
func (n names) SourceFD() int                              { return -1 }
func (n names) RootOf(lease.WorktreeID) string             { return "main" }
func (n names) Device() (major, minor uint32)              { return 0, 1 }

// What lies beside the worktrees is explained without one.
func TestAPathBesideTheWorktreesIsExplainedByItsPlaceAndTheMode(t *testing.T) {
	for name, c := range map[string]struct {
		fs          names
		mode        gate.Enforce
		beside      bool
		allowed, no bool // it may write; what refuses it only counts
		says        string
	}{
		"in a worktree":                   {names{in: true, rule: layout.Rule{Kind: layout.Guarded}}, gate.Enforcing, false, false, false, ""},
		"nothing guards it":               {names{}, gate.Enforcing, true, true, false, "no lease guards it"},
		"the mount is read-only":          {names{}, gate.ReadOnly, true, false, false, "read-only"},
		"jvsfs alone writes it":           {names{rule: layout.Rule{Kind: layout.SealedOff}}, gate.Observing, true, false, false, "jvsfs"},
		"no worktree can be called so":    {names{rule: layout.Rule{Kind: layout.BadName, Name: "a b"}}, gate.Enforcing, true, false, false, "a b"},
		"that is only observed":           {names{rule: layout.Rule{Kind: layout.BadName, Name: "a b"}}, gate.Observing, true, true, true, "a b"},
		"the audit chain":                 {names{rule: layout.Rule{Kind: layout.AppendOnly}}, gate.Enforcing, true, true, false, "append to it"},
		"a snapshot that is ready":        {names{in: true, ready: true, rule: layout.Rule{Kind: layout.Snapshot}}, gate.Enforcing, true, false, false, "snapshot"},
		"a snapshot that is not ready":    {names{in: true, rule: layout.Rule{Kind: layout.Snapshot}}, gate.Enforcing, true, true, false, "not READY"},
		"a ready snapshot, only observed": {names{in: true, ready: true, rule: layout.Rule{Kind: layout.Snapshot}}, gate.Observing, true, true, true, "snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := gate.NewResolver(lease.SystemClock())
			t.Cleanup(resolver.Close)
			where := paths.New("/m", place.Place{})
			where.Over(c.fs)
			d := &explaining{resolver: resolver, paths: where, mode: func() gate.Enforce { return c.mode }, errno: "EROFS", tree: c.fs,
				survey: leases.NewSurvey(nil, true, "", nil), // far: permissions are not looked at
				rules: func(x gate.Explanation, _ string, _ process.Identity) rulelocks.Explanation {
					return rulelocks.Explanation{Explanation: x}
				}}
			resp, beside, err := d.explainBeside(&control.Session{Peer: control.Peer{PID: os.Getpid()}}, api.Explain{Where: api.Where{Path: "x"}})
			require.NoError(t, err)
			require.Equal(t, c.beside, beside)
			if !beside {
				return
			}
			var x rulelocks.Explanation
			require.NoError(t, json.Unmarshal(resp.Result, &x))
			require.Equal(t, c.allowed, x.Allowed)
			require.Equal(t, c.no, x.WouldRefuse)
			require.Contains(t, x.Sentence, c.says)
			require.Equal(t, !c.allowed || c.no, x.Errno != "")
		})
	}
}
