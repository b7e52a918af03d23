package fence

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Only what git locks by goes with its maker: a package manager's yarn.lock below hooks is a file as any
// other.
func TestAFileThatGitDoesNotLockByStaysWhenItsMakerEnds(t *testing.T) {
	m, main, _, b := gitMount(t)
	for _, dir := range []string{".git/hooks/npm", ".git/lfs/tool", ".git/modules/sub/hooks"} {
		exit, out := main.Run(m.At(), "", "mkdir -p "+dir+" && sh -c 'echo x > "+dir+"/yarn.lock'; echo y > .git/MARK.lock")
		require.Zero(t, exit, out)
		harness.Eventually(t, "the lock of git is gone", func() bool { _, err := os.Lstat(m.At(".git/MARK.lock")); return err != nil })
		require.FileExists(t, m.Behind(dir, "yarn.lock"))
	}
	// One that its maker leaves when it ends is seen to be gone when the daemon says so, whoever has looked
	// at it. The store shows it a moment earlier: the kernel is told of the name after its removal.
	exit, out := b.Run(m.At(".git"), "", "sh -c 'echo > refs/heads/x.lock; stat refs/heads/x.lock'")
	require.Zero(t, exit, out)
	harness.Eventually(t, "the log tells of the lock", func() bool { return strings.Contains(harness.ReadText(t, m.LogFile()), `"name":"x.lock"`) })
	require.NoFileExists(t, m.Behind(".git/refs/heads/x.lock"))
	require.NoFileExists(t, m.At(".git/refs/heads/x.lock"))
}

// A lock file costs the daemon nothing once it is gone, whoever takes it away, and whatever becomes of it.
func TestALockFileOfGitCostsTheDaemonNothingOnceItIsGone(t *testing.T) {
	m, main, _, b := gitMount(t)
	held := m.At(".git/refs/tags/held.lock")
	main.OK(harness.Command{Op: "open", Handle: "held", Path: held, Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: 0o644})
	open := func() (n int) {
		names, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(m.Daemons()[0]), "fd"))
		require.NoError(t, err)
		return len(names)
	}
	round := func(times int) {
		for i := range times {
			path := m.At(".git/refs/tags/x" + strconv.Itoa(i%4) + ".lock")
			b.OK(harness.Command{Op: "open", Handle: "h", Path: path, Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: 0o644})
			b.OK(harness.Command{Op: "close", Handle: "h"})
			switch i % 4 {
			case 0:
				b.OK(harness.Command{Op: "unlink", Path: path})
			case 1:
				b.OK(harness.Command{Op: "rename", Path: path, To: m.At(".git/refs/tags/x")})
			case 2: // behind the mount; its inode becomes another file's
				require.NoError(t, os.Remove(m.Behind(".git/refs/tags/x2.lock")))
				b.OK(m.Put(".git/refs/tags/other"))
			case 3: // likewise, and its inode is not seen again
				require.NoError(t, os.Rename(m.Behind(".git/refs/tags/x3.lock"), m.Behind(".git/refs/tags/kept"+strconv.Itoa(times+i))))
			}
		}
	}
	round(10)
	before := open()
	round(400)
	require.Less(t, open(), before+50)
	b.Fails(harness.Command{Op: "unlink", Path: held}, "EROFS") // one that is there stays its maker's
}

// While the mount only observes, the rules of git's layout refuse nothing; read-only they refuse everything.
func TestGitRulesFollowTheModeOfTheMount(t *testing.T) {
	m, main, a, b := gitMount(t)
	m.Enforce("observe")
	hash := gitIn(t, m.View, "rev-parse", "HEAD:src/f")
	object := ".git/objects/" + hash[:2] + "/" + hash[2:]
	value := gitIn(t, m.View, "rev-parse", "a")
	a.OK(harness.Command{Op: "open", Handle: "lock", Path: m.At(".git/worktrees/a/index.lock"), Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: 0o644})
	for _, c := range []harness.Command{
		{Op: "chmod", Path: m.At(object), Mode: 0o644},
		text(m, object, "x"),
		text(m, ".git/refs/heads/a", value+"\n"),
		{Op: "symlink", Path: m.At(".git/refs/heads/t2"), To: "x"},
		{Op: "unlink", Path: m.At(".git/worktrees/a/index.lock")},
		m.Move("src", "src2"), m.Move("src2", "src"),
		m.Move(".git/refs/heads/t", ".git/refs/heads/u"), m.Move(".git/refs/heads/u", ".git/refs/heads/t"),
		text(m, ".git/packed-refs.lock", "nonsense"), m.Move(".git/packed-refs.lock", ".git/packed-refs"),
		{Op: "unlink", Path: m.At(".git/packed-refs")},
	} {
		b.OK(c)
	}
	m.Enforce("readonly")
	for _, c := range []harness.Command{m.Put(".git/refs/tags/x"), m.Put(".git/objects/tmp_x"), {Op: "mkdir", Path: m.At(".worktrees/n"), Mode: 0o755}, m.Put(".git/packed-refs.lock")} {
		b.Fails(c, "EROFS")
		main.Fails(c, "EROFS")
	}
}
