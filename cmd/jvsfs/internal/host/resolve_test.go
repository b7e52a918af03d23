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

// Below a mount ".." is the parent of what a link leads to, and that of the mount's root lies on another mount.
func TestResolveUpwardsBelowAMount(t *testing.T) {
	root := testkit.Tree(t, "m/sub/deep", "other")
	for link, to := range map[string]string{"m/in": "sub/deep", "m/out": "../other", "m/abs": filepath.Join(root, "m/sub/deep"), "m/twice": "in", "m/sub/loop": "loop"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	table := MountTable{{ID: 1, Mountpoint: "/", FSType: "ext4"}, {ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "m"), FSType: FSType}}
	for path, want := range map[string]struct {
		at string
		on int
	}{
		"m/in": {"m/in", 2}, "m/in/x": {"m/in/x", 2}, "m/sub/..": {"m", 2}, "m/absent/../x": {"m/x", 2}, "m/sub/deep/../../other": {"m/other", 2},
		"m/in/..": {"m/sub", 2}, "m/in/../x": {"m/sub/x", 2}, "m/abs/../x": {"m/sub/x", 2}, "m/twice/../x": {"m/sub/x", 2}, "m/in/../../in/..": {"m/sub", 2},
		"m/../other": {"other", 1}, "m/sub/../../other": {"other", 1}, "m/out/../other": {"other", 1}, "m/../m/sub": {"m/sub", 2}, "m/../../..": {"../..", 1},
	} {
		at, m, err := Resolve(root+"/"+path, table)
		require.NoError(t, err, path)
		require.Equal(t, filepath.Join(root, want.at), at, path)
		require.Equal(t, want.on, m.ID, path)
	}
	_, _, err := Resolve(root+"/m/sub/loop/..", table)
	require.ErrorContains(t, err, "too many levels")

	t.Chdir(filepath.Join(root, "m/in")) // whose path is that of what it leads to
	at, _, err := Resolve("../x", table)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "m/sub/x"), at)
	at, m, err := Resolve("../../../other", table)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "other"), at)
	require.Equal(t, 1, m.ID)
}

func TestResolveRelative(t *testing.T) {
	root := testkit.Tree(t, "a")
	t.Chdir(root)
	path, _, err := Resolve("a/../a", MountTable{{ID: 1, Mountpoint: "/"}})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "a"), path)
}
