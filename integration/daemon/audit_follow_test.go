package daemon

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// audit tail -f shows each event once, as it comes: after a rotation of the chain, and after the mount was recovered.
func TestAuditTailFollowShowsEachEventOnce(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	lines := m.Start(m.Bin, "audit", "tail", "-f", "--json", m.At("main"))
	text := m.Start(m.Bin, "audit", "tail", "-f", m.At("main"))
	a := harness.StartActor(t, "a")
	tokens := func() (all []float64) {
		for line := range strings.Lines(harness.ReadText(t, lines.File)) {
			if !strings.HasSuffix(line, "\n") {
				break
			}
			var l harness.AuditLine
			require.NoError(t, json.Unmarshal([]byte(line), &l), line)
			if l.Type == "lock_release" {
				all = append(all, l.Details["fencing_token"].(float64))
			}
		}
		return all
	}
	round := func(n int) {
		t.Helper()
		m.Acquire(a, "main")
		m.Release(a, "main")
		harness.EventuallyNoted(t, "the release is shown by both", func() (bool, string) { // before the chain gets another name
			people := harness.ReadText(t, text.File)
			return len(tokens()) >= n && strings.Count(people, "lock_release") >= n, harness.ReadText(t, lines.File) + people
		})
	}
	round(1)
	chain := m.Behind(".jvs", "audit", "audit.jsonl")
	require.NoError(t, os.Rename(chain, chain+".1"))
	round(2)
	m.KillDaemon()
	m.Recover()
	round(3)
	require.Equal(t, []float64{1, 2, 3}, tokens())
	require.Equal(t, 3, strings.Count(harness.ReadText(t, text.File), "lock_release"))
	require.Contains(t, harness.ReadText(t, text.File), " scope=tree ")
	for _, b := range []*harness.Background{lines, text} {
		require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
		exit, out := b.Wait()
		require.Zero(t, exit, out)
	}
}
