package integration

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A record that is torn stops everybody; doctor names it, and mends it once it is
// proven that nobody counts on it. The torn file stays where it was.
func TestRepairOfATornRecord(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "a")
	first := m.acquire(a, "main")
	m.release(a, "main")
	claim, _ := m.headClaim("main")
	require.NoError(t, os.WriteFile(claim, []byte(`{"lock_id":`), 0o600))

	exit, errs := m.tryLock("acquire", a, "main")
	require.Equal(t, 15, exit, errs)
	require.Contains(t, errs, "main.claim.")
	b := startActor(t, "b")
	b.fails(m.put("main", "x"), "EROFS")
	out, _, exit := m.CLI("doctor")
	require.Equal(t, 1, exit, out)
	require.Contains(t, out, "main.claim.")
	out, _, _ = m.CLI("explain", "--pid", strconv.Itoa(b.pid()), m.At("main"))
	require.Contains(t, out, "E_RECORD_UNREADABLE")

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(claim, old, old))
	out, _, _ = m.CLI("doctor", "--repair")
	require.Contains(t, out, "released: the worktree is free")
	text, err := os.ReadFile(claim)
	require.NoError(t, err)
	require.Equal(t, `{"lock_id":`, string(text))
	again := m.acquire(a, "main")
	require.Equal(t, []string{"1", "3"}, []string{first.Token.String(), again.Token.String()}, "the torn token and the one that mended it are used up")
	a.ok(m.put("main", "x"))
	require.Contains(t, m.cliOK("audit", "tail", m.At("main")), "lock_repair")
	m.release(a, "main")
}
