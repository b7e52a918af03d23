package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type auditLine struct {
	Type     string         `json:"event_type"`
	Worktree string         `json:"worktree_name"`
	Details  map[string]any `json:"details"`
}

func (m *mount) auditTail(path string) []auditLine {
	m.t.Helper()
	var lines []auditLine
	for text := range strings.Lines(m.cliOK("audit", "tail", "--json", "-n", "1000", path)) {
		var l auditLine
		require.NoError(m.t, json.Unmarshal([]byte(text), &l), text)
		lines = append(lines, l)
	}
	return lines
}

// What happened to a repository's leases stands in its chain: who took, lost and
// stole them, and what was refused meanwhile.
func TestAuditChain(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a, "main")
	a.ok(m.put("main", "x"))
	for range 50 {
		b.fails(m.put("main", "y"), "EROFS")
	}
	eventually(t, "the first refusal is written at once", func() bool {
		return strings.Contains(m.cliOK("audit", "tail", m.At("main")), "write_refused")
	})
	a.stop()
	m.awaitStealable("main")
	m.steal(b, "main")
	a.resume()
	m.release(b, "main")

	require.Contains(t, m.cliOK("audit", "verify", m.At("main")), "the chain is whole")
	kinds := map[string]auditLine{}
	refused := 0
	for _, l := range m.auditTail(m.At("main")) {
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
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a, "main")
	a.stop()
	m.awaitStealable("main")
	log := m.Behind(".jvs", "audit", "audit.jsonl")
	eventually(t, "the loss is written", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "lock_expire")
	})
	require.NoError(t, os.Rename(log, log+".aside"))
	require.NoError(t, os.Mkdir(log, 0o755))
	exit, errs := m.tryLock("steal", b, "main")
	require.Equal(t, 15, exit, errs)
	require.Contains(t, errs, "E_AUDIT_FAILED")
	_, head := m.headClaim("main")
	require.Equal(t, first.Token, head.Token, "the token must not have moved")
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Rename(log+".aside", log))
	m.steal(b, "main")
	a.resume()
}
