package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
)

func TestWorktreeOf(t *testing.T) {
	root := testkit.Tree(t, "r/.jvs", "r/main/sub", "r/worktrees/a", "plain/sub", "worktrees/lone")
	for path, want := range map[string]lease.WorktreeID{
		"r/main":              "main",
		"r/main/sub/deep":     "main",
		"r/worktrees/a":       "a",
		"r/worktrees/new":     "new", // not there yet
		"r/worktrees/new/sub": "new",
	} {
		p, err := WorktreeOf(filepath.Join(root, path), "")
		require.NoError(t, err, path)
		require.Equal(t, want, p.ID, path)
		require.Equal(t, filepath.Join(root, "r/.jvs/locks"), p.LockDir, path)
		require.False(t, p.Local)
	}
	for _, path := range []string{"r", "r/worktrees", "r/.jvs/x"} {
		_, err := WorktreeOf(filepath.Join(root, path), "")
		require.ErrorContains(t, err, "in none of its worktrees", path)
	}
	_, err := WorktreeOf(filepath.Join(root, "r/worktrees/bad name"), "")
	require.Equal(t, lease.Class("E_BAD_WORKTREE_ID"), lease.ClassOf(err))
}

func TestWorktreeOfPlainDirectory(t *testing.T) {
	root := testkit.Tree(t, "plain/sub", "worktrees/lone", "main", "odd name")
	p, err := WorktreeOf(filepath.Join(root, "plain"), "")
	require.NoError(t, err)
	require.Equal(t, lease.WorktreeID("plain"), p.ID)
	require.True(t, p.Local)
	require.True(t, strings.HasPrefix(p.LockDir, DefaultControlRoot+"/plain-"))

	p, err = WorktreeOf(filepath.Join(root, "plain"), "/ctl")
	require.NoError(t, err)
	require.Equal(t, "/ctl", p.LockDir)
	require.False(t, p.Local)

	p, err = WorktreeOf(filepath.Join(root, "main"), "")
	require.NoError(t, err)
	require.Equal(t, api.ShapeDirectory, p.Shape, "main without a repository is any directory")

	p, err = WorktreeOf(filepath.Join(root, "odd name"), "")
	require.NoError(t, err)
	require.Regexp(t, `^dir-[0-9a-f]{12}$`, string(p.ID))

	_, err = WorktreeOf(filepath.Join(root, "absent"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSourceAt(t *testing.T) {
	root := testkit.Tree(t, "r/.jvs", "r/main", "r/worktrees/a", "plain")
	for path, want := range map[string]api.Shape{
		"r": api.ShapeRepository, "r/main": api.ShapeWorktree, "r/worktrees/a": api.ShapeWorktree,
		"plain": api.ShapeDirectory, "r/worktrees": api.ShapeDirectory,
	} {
		p, err := SourceAt(filepath.Join(root, path), "")
		require.NoError(t, err, path)
		require.Equal(t, want, p.Shape, path)
	}
	p, err := SourceAt(filepath.Join(root, "r"), "/ctl")
	require.NoError(t, err)
	require.Equal(t, "/ctl", p.LockDir)
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	_, err = SourceAt(filepath.Join(root, "file"), "")
	require.ErrorContains(t, err, "not a directory")
}

func TestTwoDirectoriesOfOneNameHaveDifferentRecords(t *testing.T) {
	a, b := directoryAt("/a/tree", ""), directoryAt("/b/tree", "")
	require.Equal(t, a.ID, b.ID)
	require.NotEqual(t, a.LockDir, b.LockDir)
}
