package lease

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Writes go where a link leads. A lease of the link's own name would guard nothing, and one of the worktree that has the link in it would
// guard another place than its holder thinks. A link that stays within its worktree is like any path there.
func TestNoLeaseIsTakenOfASymbolicLink(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: func(t testing.TB, source string) {
		for _, dir := range []string{".jvs", "main/dir", "worktrees/a"} {
			require.NoError(t, os.MkdirAll(source+"/"+dir, 0o755))
		}
		for name, to := range map[string]string{"worktrees/current": "a", "main/out": "../worktrees/a", "main/in": "dir", "worktrees/loop": "loop", "worktrees/far": "/etc"} {
			require.NoError(t, os.Symlink(to, source+"/"+name))
		}
	}})
	require.NoError(t, os.Symlink(m.At("worktrees/a"), m.Behind("worktrees/absolute")))
	self := strconv.Itoa(os.Getpid())
	for _, link := range []string{"worktrees/current", "main/out", "worktrees/absolute", "worktrees/loop", "worktrees/far"} {
		_, said, exit := m.CLI("lock", "acquire", "--pid", self, m.At(link))
		require.Equal(t, 2, exit, "%s: %s", link, said)
		require.Contains(t, said, "symbolic link", link)
		_, said, exit = m.CLI("exec", m.At(link), "--", "true")
		require.Equal(t, 2, exit, "%s: %s", link, said)
		_, said, exit = m.CLI("explain", m.At(link))
		require.Equal(t, 2, exit, "%s: %s", link, said)
		require.Contains(t, said, "says nothing about that", link)
		_, said, exit = m.CLI("lock", "status", m.At(link))
		require.Equal(t, 2, exit, "%s: %s", link, said)
		require.Contains(t, said, "says nothing about that", link)
		_, said, exit = m.CLI("lock", "handover", "--to-pid", self, m.At(link))
		require.Equal(t, 2, exit, "%s: %s", link, said)
		require.Contains(t, said, "would not keep others from that", link)
	}
	// Where a link leads, who cannot read it is not told.
	_, said, _ := m.CLI("explain", m.At("main/out"))
	require.Contains(t, said, "leads from there to "+m.At("worktrees/a"))
	user := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000})
	for _, asks := range []string{" explain ", " lock status ", " lock acquire "} {
		exit, said := user.Run("/", "", m.Bin+asks+m.At("main/out"))
		require.NotZero(t, exit, said)
		require.NotContains(t, said, "worktrees/a", asks)
	}
	require.Contains(t, m.MustCLI("lock", "acquire", "--pid", self, m.At("main/in")), "acquired main: token 1")
	require.Contains(t, m.MustCLI("explain", m.At("main/in")), "main")
	require.Contains(t, m.MustCLI("lock", "status", m.At("main/in")), "main")
	m.MustCLI("lock", "release", "--pid", self, m.At("main"))
}

// ".." after a link is the parent of where that leads, as for every program, and ".." of the mount's root is no place of the mount.
func TestDotDotAfterALinkIsTheParentOfItsTarget(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, Prepare: func(t testing.TB, main string) {
		require.NoError(t, os.Mkdir(main+"/dir", 0o755))
		require.NoError(t, os.Symlink("../worktrees/a", main+"/out"))
		require.NoError(t, os.Symlink("main/dir", main+"/../in"))
	}})
	self := strconv.Itoa(os.Getpid())
	require.Contains(t, m.MustCLI("lock", "acquire", "--pid", self, m.Mountpoint+"/main/out/../b"), "acquired b: token 1")
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint+"/in/.."), "main")
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint+"/main/out/../../main"), "main")
	beside := m.Base + "/beside"
	require.NoError(t, os.Mkdir(beside, 0o755))
	out := m.MustCLI("explain", m.Mountpoint+"/../beside")
	require.Contains(t, out, beside+": a write would pass")
	require.Contains(t, out, "the path is on no jvsfs mount")
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint+"/main/../../beside"), "worktree   beside")
	m.MustCLI("lock", "release", "--pid", self, m.At("worktrees/b"))
}
