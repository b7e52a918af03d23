package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The owner of a repository can make its lock directory before it is mounted, and put anything into it. doctor names what lies in the place of a
// taint, and neither waits for it, nor follows it, nor reads it to its end.
func TestDoctorReadsNoFileThatWasPlantedAsATaint(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, Prepare: harness.WithFiles("f")})
	secret := filepath.Join(m.Base, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("topsecret"), 0o600))
	taint := func(n string) string {
		return m.Behind(".jvs", "locks", "main.taint.0000000000000000000"+n+".0123456789abcdef0123456789abcdef")
	}
	require.NoError(t, unix.Mkfifo(taint("1"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", taint("2")))
	require.NoError(t, os.Symlink(secret, taint("3")))
	all, ok, exit := m.Doctor()
	require.False(t, ok)
	require.Equal(t, 1, exit)
	for n := range 3 {
		require.Len(t, all.Of("taint.late", m.At(".jvs", "locks", filepath.Base(taint(string(rune('1'+n)))))), 1, "%+v", all)
	}
	require.Empty(t, all.Of("taint.late", "topsecret"))
	for _, n := range []string{"1", "2", "3"} {
		require.NoError(t, os.Remove(taint(n)))
	}
}

// What the daemon has open must be what others find: after its lock directory was replaced, other mounts and commands take other records.
func TestDoctorKnowsThatTheRecordsWereReplaced(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	m.RequireNoFinding("locks.replaced", "")
	aside := m.LockDir + ".aside"
	require.NoError(t, os.Rename(m.LockDir, aside))
	require.NoError(t, os.Mkdir(m.LockDir, 0o700))
	m.RequireFinding("locks.replaced", m.LockDir, "put it back")
	require.NoError(t, os.Remove(m.LockDir))
	require.NoError(t, os.Rename(aside, m.LockDir))
	m.RequireNoFinding("locks.replaced", "")
}
