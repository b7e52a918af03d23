package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// What is not UTF-8 becomes U+FFFD in JSON, and a directory of that name may exist: no lease of that one is taken, and nothing is written there.
// Files of any name are written through a mount.
func TestAPathThatIsNotUTF8IsNoOtherPath(t *testing.T) {
	const odd, mangled = "w\xff", "w\ufffd"
	m := harness.NewMount(t, harness.MountOptions{Prepare: func(t testing.TB, source string) {
		for _, dir := range []string{".jvs", "main", "worktrees/" + odd, "worktrees/" + mangled} {
			require.NoError(t, os.MkdirAll(filepath.Join(source, dir), 0o755))
		}
	}})
	refused := func(says string, args ...string) {
		t.Helper()
		_, said, exit := m.CLI(args...)
		require.Equal(t, 2, exit, "%v: %s", args, said)
		require.Contains(t, said, `w\xff`, args)
		require.Contains(t, said, "is not UTF-8", args)
		require.Contains(t, said, says, args)
	}
	at := m.At("worktrees", odd)
	for _, args := range [][]string{{"exec", at, "--", "true"}, {"lock", "acquire", "--pid", "1", at}, {"lock", "status", at}, {"explain", at + "/f"}, {"quiesce", at, "--", "true"}} {
		refused("give it another name", args...)
	}
	a := harness.StartActor(t, "a")
	m.Acquire(a, "main")
	a.OK(harness.Command{Op: "mkdir", Path: m.At("main", odd), Mode: 0o755})
	m.Release(a, "main")

	dir := filepath.Join(m.Base, odd)
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(m.Base, mangled), 0o755))
	other := filepath.Join(m.Base, "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	refused("mount --bind", "mount", dir)
	refused("mount --bind", "mount", other, dir)
	refused("mount --bind", "mount", other, "--control", filepath.Join(dir, "control"))
	_, said, exit := m.CLI("exec", "--control", filepath.Join(m.Base, "plain"), dir, "--", "sh", "-c", `echo it >"$JVSFS_WORKTREE/out"`)
	require.Zero(t, exit, said)
	require.FileExists(t, filepath.Join(dir, "out"))
	require.NoFileExists(t, filepath.Join(m.Base, mangled, "out"))
}

// The kernel takes no longer name of a source. The error says so, and what to do.
func TestASourcePathThatIsTooLongIsRefused(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	source := filepath.Join(m.Base, strings.Repeat("x", 200), strings.Repeat("y", 200))
	require.NoError(t, os.MkdirAll(source, 0o755))
	_, said, exit := m.CLI("mount", source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile())
	require.NotZero(t, exit, said)
	require.Contains(t, said, "the kernel takes 255 at most")
	require.Contains(t, said, "mount --bind")
	require.Empty(t, harness.TopType(t, m.Mountpoint))
	short := harness.BindView(t, source, filepath.Join(m.Base, "short"), 0)
	m.Source, m.View = short, short
	m.Mount()
	m.Unmount()
}
