package lease

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A record that is torn stops everybody; doctor names it, and repairs it once it is
// proven that nobody counts on it. The torn file stays where it was.
func TestDoctorRepairsATornRecordOnceNobodyCountsOnIt(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	first := m.Acquire(a, "main")
	m.Release(a, "main")
	claim, _ := m.HeadClaim("main")
	require.NoError(t, os.WriteFile(claim, []byte(`{"lock_id":`), 0o600))

	exit, errs := m.TryLock("acquire", a, "main")
	require.Equal(t, harness.ExitStore, exit, errs)
	require.Contains(t, errs, "main.claim.")
	b := harness.StartActor(t, "b")
	b.Fails(m.Put("main", "x"), "EROFS")
	out, _, exit := m.CLI("doctor")
	require.Equal(t, 1, exit, out)
	require.Contains(t, out, "main.claim.")
	out, _, _ = m.CLI("explain", "--pid", strconv.Itoa(b.PID()), m.At("main"))
	require.Contains(t, out, "E_RECORD_UNREADABLE")

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(claim, old, old))
	out, _, _ = m.CLI("doctor", "--repair")
	require.Contains(t, out, "released: the worktree is free")
	text, err := os.ReadFile(claim)
	require.NoError(t, err)
	require.Equal(t, `{"lock_id":`, string(text))
	again := m.Acquire(a, "main")
	require.Equal(t, []string{"1", "3"}, []string{first.Token.String(), again.Token.String()}, "the torn token and the one that repaired it are used up")
	a.OK(m.Put("main", "x"))
	require.Contains(t, m.MustCLI("audit", "tail", m.At("main")), "lock_repair")
	m.Release(a, "main")
}
