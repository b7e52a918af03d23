package lease

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// In the lock directory of the machine, no other user may be able to replace the records: the mount is refused,
// and the error names the user.
func TestAMountIsRefusedWhenOthersMayReplaceItsLeaseRecords(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	above := filepath.Join(m.Base, "above")
	require.NoError(t, os.Mkdir(above, 0o755))
	locks := filepath.Join(above, "locks")
	require.NoError(t, os.Chown(above, 1000, 1000))
	for what, undo := range map[string]func() error{
		"user 1000": func() error { return os.Chown(above, 0, 0) },
	} {
		_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", locks)
		require.Equal(t, harness.ExitStore, exit, errs)
		require.Contains(t, errs, what)
		require.Contains(t, errs, above)
		_, errs, exit = m.CLI("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), "--control", locks, m.Source)
		require.Equal(t, harness.ExitStore, exit, errs)
		require.NoError(t, undo())
	}
	require.NoError(t, os.Chmod(above, 0o777))
	_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", locks)
	require.Equal(t, harness.ExitStore, exit, errs)
	require.Contains(t, errs, "everybody")
	require.NoError(t, os.Chmod(above, 0o777|os.ModeSticky))
	m.MustCLI("lock", "status", "--control", locks, m.Source)
	m.Mount()
}

// A repository's owner can forge its records: jvsfs says so, and warns of other users who can.
func TestDoctorSaysWhoCanForgeRecords(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, Prepare: harness.WithFiles("f")})
	for _, dir := range []string{"", ".jvs"} {
		require.NoError(t, os.Chown(filepath.Join(m.Source, dir), 1000, 1000))
	}
	m.Mount()
	all, _, _ := m.Doctor()
	require.NotEmpty(t, all.Of("locks.owner", "user 1000"))
	m.RequireNoFinding("locks.exposed", "")
	require.NoError(t, os.Chmod(m.Behind(".jvs"), 0o777))
	m.RequireFinding("locks.exposed", "everybody", "chmod go-w")
}

// A directory that people share may be named as the place of the records by mistake, as /tmp. Who only looks leaves it as it is, and who
// takes a lease or mounts is told: with mode 0700 everybody else would be shut out.
func TestASharedDirectoryNamedAsLockDirectoryKeepsItsMode(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	shared := filepath.Join(m.Base, "shared")
	require.NoError(t, os.Mkdir(shared, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "theirs"), nil, 0o644))
	require.NoError(t, os.Chmod(shared, 0o777|os.ModeSticky))
	for _, look := range [][]string{{"lock", "status"}, {"lock", "release"}, {"explain"}, {"doctor"}, {"config", "show"}} {
		_, _, _ = m.CLI(append(look, "--control", shared, m.Source)...)
		requireMode(t, shared, look)
	}
	for _, take := range [][]string{{"mount", m.Source, m.Mountpoint}, {"exec", m.Source, "--", "true"}} {
		_, errs, exit := m.CLI(append([]string{take[0], "--control", shared}, take[1:]...)...)
		require.Equal(t, harness.ExitStore, exit, errs)
		require.Contains(t, errs, shared+" has mode 1777")
		require.Contains(t, errs, "chmod 700 "+shared)
		requireMode(t, shared, take)
	}
}

func requireMode(t *testing.T, dir string, after []string) {
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|os.ModeSticky|0o777, info.Mode(), "after %q", after)
}
