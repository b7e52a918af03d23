package fusefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/integration/goroutines"
	"github.com/jvsfs/jvsfs/lease"
)

func servingOf(t *testing.T, dir string) *serving {
	t.Helper()
	s := beginServing(t)
	require.NoError(t, s.serve(openDir(t, dir), nil))
	return s
}

func beginServing(t *testing.T) *serving {
	t.Helper()
	s := newServing()
	t.Cleanup(func() { s.close() })
	return &s
}

func openDir(t *testing.T, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func TestARootIsRenamedByTheOnlyMount(t *testing.T) {
	dir := t.TempDir()
	a := servingOf(t, dir)
	for range 2 {
		require.True(t, a.announce())
		require.True(t, a.noneOfOld())
		a.withdraw()
	}
	b := servingOf(t, dir)
	for range 3 { // failing gives up nothing, on either side
		require.False(t, a.announce())
		require.False(t, b.announce())
	}
	b.close()
	require.True(t, a.announce())
	a.withdraw()
}

// A mount that begins to serve during a rename serves when that is over.
func TestAMountWaitsForARename(t *testing.T) {
	dir := t.TempDir()
	a := servingOf(t, dir)
	require.True(t, a.announce())
	b, done := beginServing(t), make(chan error, 1)
	root := openDir(t, dir)
	go func() { done <- b.serve(root, nil) }()
	goroutines.MustBlock(t, done, "fusefs.(*serving).serve")
	a.withdraw()
	require.NoError(t, <-done)
	require.False(t, a.announce())
}

// Older versions know only flock: shared for life, and exclusive for a rename.
func TestARenameRespectsDaemonsThatKnowOnlyFlock(t *testing.T) {
	dir := t.TempDir()
	a, old := servingOf(t, dir), openDir(t, dir)
	require.ErrorIs(t, unix.Flock(old, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, unix.Flock(old, unix.LOCK_SH))
	require.True(t, a.announce())
	require.False(t, a.noneOfOld())
	a.withdraw()
	require.ErrorIs(t, unix.Flock(old, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, unix.Flock(old, unix.LOCK_UN))
	require.True(t, a.announce())
	require.True(t, a.noneOfOld())
	a.withdraw()
	require.ErrorIs(t, unix.Flock(old, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK, "shared again")
}

// A worktree that was renamed before its mount was known to others is not served under its old
// name.
func TestAWorktreeThatWasRenamedMeanwhileIsNotServed(t *testing.T) {
	repo := t.TempDir()
	for _, dir := range []string{"main", "worktrees", "worktrees/a"} {
		require.NoError(t, os.Mkdir(filepath.Join(repo, dir), 0o755))
	}
	main, a := openDir(t, repo+"/main"), openDir(t, repo+"/worktrees/a")
	serve := func(id lease.WorktreeID, root int) error {
		return beginServing(t).serveFrom(Options{Repository: repo, Layout: laidOut(layout.Tree, id), Source: repo}, root)
	}
	require.NoError(t, serve("main", main))
	require.NoError(t, serve("a", a))
	require.NoError(t, os.Rename(repo+"/worktrees/a", repo+"/worktrees/b"))
	require.Error(t, serve("a", a))
	require.NoError(t, os.Rename(repo+"/main", repo+"/worktrees/a"))
	require.Error(t, serve("a", a))
	require.NoError(t, serve("a", main))
}
