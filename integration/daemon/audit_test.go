package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The chain of a repository has the history of its leases: who took, lost and stole them, and what was refused
// meanwhile.
func TestTheAuditChainTellsTakesLossesStealsAndRefusals(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a, "main")
	a.OK(m.Put("main", "x"))
	for range 50 {
		b.Fails(m.Put("main", "y"), "EROFS")
	}
	harness.Eventually(t, "the first refusal is written at once", func() bool {
		return strings.Contains(m.MustCLI("audit", "tail", m.At("main")), "write_refused")
	})
	a.Stop()
	m.AwaitStealable("main")
	m.Steal(b, "main")
	a.Resume()
	m.Release(b, "main")

	require.Contains(t, m.MustCLI("audit", "verify", m.At("main")), "the chain is whole")
	kinds := map[string]harness.AuditLine{}
	refused := 0
	for _, l := range m.AuditTail(m.At("main")) {
		require.Equal(t, "main", l.Worktree)
		kinds[l.Type] = l
		if l.Type == "write_refused" {
			refused++
		}
	}
	for _, want := range []string{"lock_acquire", "lock_expire", "lock_steal", "lock_release", "write_refused"} {
		require.Contains(t, kinds, want)
	}
	require.EqualValues(t, 2, kinds["lock_steal"].Details["fencing_token"])
	require.Equal(t, "E_LOCK_CONFLICT", kinds["write_refused"].Details["class"])
	require.Less(t, refused, 10, "fifty refusals of one kind are no fifty lines")

	log := m.Behind(".jvs", "audit", "audit.jsonl")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, []byte(strings.Replace(string(text), `"fencing_token":2`, `"fencing_token":3`, 1)), 0o644))
	_, _, exit := m.CLI("audit", "verify", m.At("main"))
	require.Equal(t, 1, exit, "a changed line must be noticed")
	require.NoError(t, os.WriteFile(log, text, 0o644))
}

// No event, no steal: the audit of a takeover is mandatory.
func TestAStealThatCannotBeAuditedDoesNotHappen(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a, "main")
	a.Stop()
	m.AwaitStealable("main")
	log := m.Behind(".jvs", "audit", "audit.jsonl")
	harness.Eventually(t, "the loss is written", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "lock_expire")
	})
	require.NoError(t, os.Rename(log, log+".aside"))
	require.NoError(t, os.Mkdir(log, 0o755))
	exit, errs := m.TryLock("steal", b, "main")
	require.Equal(t, harness.ExitStore, exit, errs)
	require.Contains(t, errs, "E_AUDIT_FAILED")
	_, head := m.HeadClaim("main")
	require.Equal(t, first.Token, head.Token, "the token must not have moved")
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Rename(log+".aside", log))
	m.Steal(b, "main")
	a.Resume()
}
