package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return root
}

func TestWorktreeOf(t *testing.T) {
	root := tree(t, "r/.jvs", "r/main/sub", "r/worktrees/a", "plain/sub", "worktrees/lone")
	for path, want := range map[string]lease.WorktreeID{
		"r/main":              "main",
		"r/main/sub/deep":     "main",
		"r/worktrees/a":       "a",
		"r/worktrees/new":     "new", // not there yet
		"r/worktrees/new/sub": "new",
	} {
		p, err := worktreeOf(filepath.Join(root, path), "")
		require.NoError(t, err, path)
		require.Equal(t, want, p.ID, path)
		require.Equal(t, filepath.Join(root, "r/.jvs/locks"), p.LockDir, path)
		require.False(t, p.Local)
	}
	for _, path := range []string{"r", "r/worktrees", "r/.jvs/x"} {
		_, err := worktreeOf(filepath.Join(root, path), "")
		require.ErrorContains(t, err, "in none of its worktrees", path)
	}
	_, err := worktreeOf(filepath.Join(root, "r/worktrees/bad name"), "")
	require.Equal(t, lease.Class("E_BAD_WORKTREE_ID"), lease.ClassOf(err))
}

func TestWorktreeOfPlainDirectory(t *testing.T) {
	root := tree(t, "plain/sub", "worktrees/lone", "main", "odd name")
	p, err := worktreeOf(filepath.Join(root, "plain"), "")
	require.NoError(t, err)
	require.Equal(t, lease.WorktreeID("plain"), p.ID)
	require.True(t, p.Local)
	require.True(t, strings.HasPrefix(p.LockDir, defaultControlRoot+"/plain-"))

	p, err = worktreeOf(filepath.Join(root, "plain"), "/ctl")
	require.NoError(t, err)
	require.Equal(t, "/ctl", p.LockDir)
	require.False(t, p.Local)

	p, err = worktreeOf(filepath.Join(root, "main"), "")
	require.NoError(t, err)
	require.Equal(t, shapeDirectory, p.Shape, "main without a repository is any directory")

	p, err = worktreeOf(filepath.Join(root, "odd name"), "")
	require.NoError(t, err)
	require.Regexp(t, `^dir-[0-9a-f]{12}$`, string(p.ID))

	_, err = worktreeOf(filepath.Join(root, "absent"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSourceAt(t *testing.T) {
	root := tree(t, "r/.jvs", "r/main", "r/worktrees/a", "plain")
	for path, want := range map[string]shape{
		"r": shapeRepository, "r/main": shapeWorktree, "r/worktrees/a": shapeWorktree,
		"plain": shapeDirectory, "r/worktrees": shapeDirectory,
	} {
		p, err := sourceAt(filepath.Join(root, path), "")
		require.NoError(t, err, path)
		require.Equal(t, want, p.Shape, path)
	}
	p, err := sourceAt(filepath.Join(root, "r"), "/ctl")
	require.NoError(t, err)
	require.Equal(t, "/ctl", p.LockDir)
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	_, err = sourceAt(filepath.Join(root, "file"), "")
	require.ErrorContains(t, err, "not a directory")
}

func TestTwoDirectoriesOfOneNameHaveDifferentRecords(t *testing.T) {
	a, b := directoryAt("/a/tree", ""), directoryAt("/b/tree", "")
	require.Equal(t, a.ID, b.ID)
	require.NotEqual(t, a.LockDir, b.LockDir)
}

func TestResolveStopsAtTheMount(t *testing.T) {
	root := tree(t, "real/repo", "dir")
	require.NoError(t, os.Symlink("../real", filepath.Join(root, "dir/link")))
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	table := mountTable{
		{ID: 1, Parent: 0, Mountpoint: "/", FSType: "ext4"},
		{ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "real/repo"), FSType: fsType},
	}
	path, m, err := resolve(filepath.Join(root, "dir/link/repo/a/b"), table)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "real/repo/a/b"), path)
	require.Equal(t, 2, m.ID)

	path, m, err = resolve(root+"/dir/link/../dir/./absent/x", table) // .. of what the link means
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "dir/absent/x"), path)
	require.Equal(t, 1, m.ID)

	_, _, err = resolve(filepath.Join(root, "loop/x"), table)
	require.ErrorContains(t, err, "too many levels")
	_, _, err = resolve("", table)
	require.Error(t, err)
}

func TestResolveRelative(t *testing.T) {
	root := tree(t, "a")
	t.Chdir(root)
	path, _, err := resolve("a/../a", mountTable{{ID: 1, Mountpoint: "/"}})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "a"), path)
}

func TestMountRefusesWhatIsMounted(t *testing.T) {
	root := tree(t, "repo/main")
	table := mountTable{
		&mountinfo.Info{ID: 1, Mountpoint: "/"},
		&mountinfo.Info{ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "repo"), FSType: fsType},
	}
	cfg := configOf(t, filepath.Join(root, "repo/main"))
	err := new(mountCommand).resolvePaths(t.Context(), &cfg, table)
	require.ErrorContains(t, err, "on the jvsfs mount")
	require.Equal(t, exitUsage, asFailure(err).exit())
}
