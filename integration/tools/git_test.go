package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// gitVaries are files that hold times and inode numbers of the working tree.
var gitVaries = []string{"r/.git/index", "c/.git/index", "r/.git/worktrees/w/index"}

func TestToolGitWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.same(
		[]string{"git", "init", "-q", "-b", "main", "r"},
		[]string{"cp", "f", "r/one"},
		[]string{"git", "-C", "r", "add", "."},
		[]string{"git", "-C", "r", "commit", "-q", "-m", "one"},
		[]string{"mv", "r/one", "r/two"},
		[]string{"git", "-C", "r", "commit", "-q", "-a", "-m", "two", "--allow-empty"},
		[]string{"git", "-C", "r", "add", "."},
		[]string{"git", "-C", "r", "commit", "-q", "-m", "three"},
		[]string{"git", "-C", "r", "gc", "-q"},
		[]string{"git", "-C", "r", "fsck", "--strict"},
		[]string{"git", "clone", "-q", "r", "c"},
		[]string{"git", "-C", "c", "fsck", "--strict"},
		[]string{"git", "-C", "r", "worktree", "add", "-q", "--detach", "../w"},
	)
	// Paths of the place in files of git's own are the only further difference.
	b.sameTrees(append(gitVaries, "c/.git/config", "c/.git/packed-refs", "c/.git/logs/HEAD", "w/.git",
		"c/.git/logs/refs/heads/main", "c/.git/logs/refs/remotes/origin/HEAD", "r/.git/worktrees/w/gitdir"), harness.LeaveTimes)
	for _, repo := range []string{"r", "c", "w"} {
		require.Empty(t, b.stranger.OK("git", "-C", repo, "status", "--porcelain"), "%s is clean", repo)
	}
	require.Equal(t, b.native.OK("git", "-C", "c", "rev-parse", "HEAD"), b.stranger.OK("git", "-C", "c", "rev-parse", "HEAD"))
}

func TestToolGitIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.holder.OK("git", "init", "-q", "-b", "main", ".")
	b.holder.OK("git", "add", "f")
	b.holder.OK("git", "commit", "-q", "-m", "one")
	b.whileHeld(func(s harness.Workshop) {
		require.Equal(t, "", s.OK("git", "status", "--porcelain"))
		require.Contains(t, s.OK("git", "log", "--oneline"), "one")
		const errno = "Read-only file system"
		s.Fails(128, errno, "git", "commit", "--allow-empty", "-m", "two")
		s.Fails(128, errno, "git", "add", "f")
		s.Fails(128, errno, "git", "checkout", "-b", "other")
		s.Fails(128, errno, "git", "gc")
		s.Fails(128, errno, "git", "worktree", "add", "--detach", "w")
		s.Fails(128, errno, "git", "init", "new")
		s.Fails(128, errno, "git", "clone", "-q", ".", "new")
		s.OK("git", "fsck")
		s.OK("git", "clone", "-q", ".", b.plain+"/clone")
	})
}
