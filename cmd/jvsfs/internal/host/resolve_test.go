package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

func TestResolveStopsAtTheMount(t *testing.T) {
	root := testkit.Tree(t, "real/repo", "dir")
	require.NoError(t, os.Symlink("../real", filepath.Join(root, "dir/link")))
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	table := MountTable{
		{ID: 1, Parent: 0, Mountpoint: "/", FSType: "ext4"},
		{ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "real/repo"), FSType: FSType},
	}
	path, m, err := Resolve(filepath.Join(root, "dir/link/repo/a/b"), table)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "real/repo/a/b"), path)
	require.Equal(t, 2, m.ID)

	path, m, err = Resolve(root+"/dir/link/../dir/./absent/x", table) // .. of what the link means
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "dir/absent/x"), path)
	require.Equal(t, 1, m.ID)

	_, _, err = Resolve(filepath.Join(root, "loop/x"), table)
	require.ErrorContains(t, err, "too many levels")
	_, _, err = Resolve("", table)
	require.Error(t, err)
}

func TestResolveRelative(t *testing.T) {
	root := testkit.Tree(t, "a")
	t.Chdir(root)
	path, _, err := Resolve("a/../a", MountTable{{ID: 1, Mountpoint: "/"}})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "a"), path)
}
