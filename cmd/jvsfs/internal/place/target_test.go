package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/gate/layout"
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
		p, err := SourceAt(filepath.Join(root, path), "", layout.Auto)
		require.NoError(t, err, path)
		require.Equal(t, want, p.Shape, path)
	}
	p, err := SourceAt(filepath.Join(root, "r"), "/ctl", layout.Auto)
	require.NoError(t, err)
	require.Equal(t, "/ctl", p.LockDir)
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	_, err = SourceAt(filepath.Join(root, "file"), "", layout.Auto)
	require.ErrorContains(t, err, "not a directory")
}

// A folder of today's JVS has one lease for all of it, and what lies in it belongs to that,
// also a directory main. A repository that has nothing to guard is not taken for anything.
func TestFolderOfJVS(t *testing.T) {
	root := testkit.Tree(t, "f/.jvs/locks", "f/main/src", "workspace/src", "empty/.jvs")
	require.NoError(t, os.WriteFile(filepath.Join(root, "f/.jvs/repo_mode"), []byte("embedded_control\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "workspace/.jvs"), []byte(`{"type":"jvs-workspace"}`), 0o600))
	for path, want := range map[string]string{
		"f": "f", "f/main": "f", "f/main/src": "f", "f/.jvs/locks": "f", "f/absent": "f", "workspace/src": "workspace",
	} {
		p, err := WorktreeOf(filepath.Join(root, path), "")
		require.NoError(t, err, path)
		require.Equal(t, []any{filepath.Join(root, want), api.ShapeDirectory, layout.Folder}, []any{p.Root, p.Shape, p.Layout}, path)
	}
	p, err := SourceAt(filepath.Join(root, "f"), "", layout.Auto)
	require.NoError(t, err)
	require.Equal(t, layout.Folder, p.Layout)
	p, err = SourceAt(filepath.Join(root, "f"), "", layout.Tree)
	require.NoError(t, err)
	require.Equal(t, layout.Tree, p.Layout, "as it was asked for")

	_, err = SourceAt(filepath.Join(root, "empty"), "", layout.Auto)
	require.ErrorIs(t, err, layout.ErrNothing)
	p, err = SourceAt(filepath.Join(root, "empty"), "", layout.JVS)
	require.NoError(t, err)
	require.Equal(t, api.ShapeRepository, p.Shape, "it is yet to get its main")
	_, err = SourceAt(filepath.Join(root, "f/main"), "", layout.JVS)
	require.ErrorContains(t, err, "needs a directory .jvs")
}

// A source is looked for from a path upwards: the whole repository, or the folder.
func TestASourceIsLookedForUpwards(t *testing.T) {
	root := testkit.Tree(t, "r/.jvs", "r/main/src", "plain/src")
	for path, want := range map[string][2]string{
		"r/main/src/x": {"r", "main/src/x"}, "r/.jvs/locks": {"r", ".jvs/locks"}, "r": {"r", ""}, "plain/src": {"plain/src", ""},
		"plain/absent/x": {"plain", "absent/x"},
	} {
		p, rel, err := Above(filepath.Join(root, path))
		require.NoError(t, err, path)
		require.Equal(t, [2]string{filepath.Join(root, want[0]), want[1]}, [2]string{p.Root, rel}, path)
		require.NotEmpty(t, p.Why, path)
	}
}

func TestTwoDirectoriesOfOneNameHaveDifferentRecords(t *testing.T) {
	a, b := directoryAt("/a/tree", ""), directoryAt("/b/tree", "")
	require.Equal(t, a.ID, b.ID)
	require.NotEqual(t, a.LockDir, b.LockDir)
}
