package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// withCheckouts makes a repository of git with the linked worktrees a, b and t/c, each on a branch of
// its name.
func withCheckouts(t testing.TB, root string) {
	t.Helper()
	gitIn(t, root, "init", "-q", "-b", "main")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "src"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "src/f"), []byte("f\n"), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "empty"), 0o755))
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-q", "-m", "first")
	for _, name := range []string{"a", "b"} {
		gitIn(t, root, "worktree", "add", "-q", "-b", name, ".worktrees/"+name)
	}
	gitIn(t, root, "worktree", "add", "-q", "-b", "t/c", "src/deep/c")
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@e"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// gitMount mounts such a repository. Its main checkout is held by main, and a by a; b holds nothing
// before it writes.
func gitMount(t *testing.T, extra ...string) (m *harness.Mount, main, a, b *harness.Actor) {
	t.Helper()
	m = harness.NewMount(t, harness.MountOptions{Prepare: withCheckouts, Extra: extra})
	main, a, b = harness.StartActor(t, "main"), harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(main)
	m.Acquire(a, ".worktrees/a")
	return m, main, a, b
}

func text(m *harness.Mount, path, content string) harness.Command {
	return harness.Command{Op: "writefile", Path: m.At(path), Flags: unix.O_CREAT | unix.O_TRUNC, Mode: 0o644, Data: []byte(content)}
}

// A note says where a checkout lies. Nobody takes a directory by it that somebody else guards, neither
// at once nor by the next mount.
func TestAGitNoteTakesNoDirectoryThatAnotherGuards(t *testing.T) {
	m, main, a, b := gitMount(t)
	targets := []string{"", "src", "empty", ".worktrees", ".git", ".git/refs", ".git/refs/heads", ".git/objects", ".git/logs/refs/heads", ".git/hooks",
		".git/worktrees", ".git/worktrees/a", ".worktrees/a", ".worktrees/a/src", "src/../src", ".worktrees/a/../../src"}
	check := func() {
		t.Helper()
		for _, path := range []string{"new", "src/new", "src/f", "empty/new", ".git/index.lock", ".git/hooks/pre-commit", ".git/worktrees/a/index.lock", ".worktrees/a/new", ".worktrees/a/src/new", ".git/refs/heads/a", ".git/logs/refs/heads/main"} {
			b.Fails(m.Put(path), "EROFS")
		}
		main.OK(m.Put("src/new"))
		main.OK(m.Put("empty/of-main"))
		main.OK(harness.Command{Op: "unlink", Path: m.At("empty/of-main")})
		a.OK(m.Put(".worktrees/a/new"))
		a.OK(m.Put(".worktrees/a/src/new"))
	}
	for i, target := range targets {
		admin := ".git/worktrees/x" + string(rune('a'+i))
		b.OK(harness.Command{Op: "mkdir", Path: m.At(admin), Mode: 0o755})
		b.OK(text(m, admin+"/HEAD", "ref: refs/heads/of-"+filepath.Base(admin)+"\n"))
		b.OK(text(m, admin+"/commondir", "../..\n"))
		b.OK(text(m, admin+"/gitdir", filepath.Join(m.Source, "x")[:len(m.Source)]+"/"+target+"/.git\n"))
		b.Run(m.At(".git"), "", "ls -la worktrees worktrees/*; git --git-dir . worktree list")
	}
	check()
	m.Unmount()
	m.Mount()
	m.Acquire(main)
	m.Acquire(a, ".worktrees/a")
	check()
}

// Each way to write a note counts, and no way takes more than another.
func TestEveryWayToWriteAGitNoteCountsTheSame(t *testing.T) {
	m, main, _, b := gitMount(t)
	note := filepath.Join(m.Source, "src", ".git") + "\n"
	b.OK(harness.Command{Op: "mkdir", Path: m.At(".git/worktrees/x"), Mode: 0o755})
	b.OK(text(m, ".git/worktrees/x/other", note))
	for _, way := range []string{"cp other gitdir", "mv other gitdir", "ln gitdir g2; mv g2 gitdir", "cat gitdir > g3; rm gitdir; ln g3 gitdir", "truncate -s 0 gitdir; printf %s \"$(cat g3)\" >> gitdir"} {
		b.Run(m.At(".git/worktrees/x"), "", way)
		b.Run(m.At(".git/worktrees"), "", "mv x y && ls -l y && mv y x && stat absent")
		b.Fails(m.Put("src/new"), "EROFS")
		main.OK(m.Put("src/of-main"))
	}
}

// git makes worktrees below .worktrees and .claude/worktrees while somebody else holds the main
// checkout; from then on they have a lease of their own. Elsewhere main's holder makes them.
func TestANewCheckoutHasALeaseOfItsOwnWhileMainIsHeld(t *testing.T) {
	m, main, _, b := gitMount(t)
	for i, path := range []string{".worktrees/n1", ".claude/worktrees/n2"} {
		exit, out := b.Run(m.At(), "", "git worktree add -q -b n"+string(rune('1'+i))+" "+path)
		require.Zero(t, exit, out)
		b.OK(m.Put(path, "new"))
		main.Fails(m.Put(path, "new"), "EROFS")
		require.Equal(t, filepath.Base(path), layoutOf(t, m, m.At(path, "new"))[0].Worktree)
	}
	exit, out := b.Run(m.At(), "", "git worktree add -q -b n3 elsewhere")
	require.NotZero(t, exit, out)
	exit, out = main.Run(m.At(), "", "git worktree add -q -b n4 other")
	require.Zero(t, exit, out)
	main.OK(m.Put("other/new"))
	b.Fails(m.Put("other/new"), "EROFS")
	require.Equal(t, "other", layoutOf(t, m, m.At("other/new"))[0].Worktree)
}

// A directory that takes the inode of a removed checkout is not that checkout.
func TestADirectoryWithTheInodeOfARemovedCheckoutIsNotIt(t *testing.T) {
	m, main, a, b := gitMount(t)
	m.Release(a, ".worktrees/a")
	exit, out := b.Run(m.At(), "", "rm -rf .worktrees/b src/deep/c")
	require.Zero(t, exit, out)
	for range 20 {
		exit, out = main.Run(m.At(), "", "mkdir -p d1 d2 d3; touch d1/x d2/x d3/x && rm -r d1 d2 d3")
		require.Zero(t, exit, out)
	}
	main.OK(harness.Command{Op: "mkdir", Path: m.At("other"), Mode: 0o755})
	b.Fails(m.Put("other/new"), "EROFS")
	main.OK(m.Put("other/new"))
}

// A directory that a checkout of somebody else lies in keeps its name, and so does the repository.
func TestADirectoryAboveAnothersCheckoutCannotBeRenamed(t *testing.T) {
	m, main, a, _ := gitMount(t)
	c := harness.StartActor(t, "c")
	m.Acquire(c, "src/deep/c")
	for _, path := range []string{".git", ".worktrees", "src", "src/deep", ".git/worktrees", ".git/refs", ".git/refs/heads", ".git/objects", ".git/logs"} {
		require.NotEmpty(t, main.Do(m.Move(path, "moved")).Errno, path)
		require.NotEmpty(t, main.Do(harness.Command{Op: "rename", Path: m.At("empty"), To: m.At(path), Flags: unix.RENAME_EXCHANGE}).Errno, path)
	}
	a.OK(m.Put(".worktrees/a/new"))
	c.OK(m.Put("src/deep/c/new"))
	m.Release(c, "src/deep/c")
	main.OK(m.Move("src", "moved")) // c's lease is free
	main.OK(m.Move("moved", "src"))
}
