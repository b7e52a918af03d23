package mountcfg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A path means what it means to every other program: ".." is the parent of what a link leads to.
func TestPathsUpwards(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "far/dir"), 0o755))
	require.NoError(t, os.Symlink("far/dir", filepath.Join(root, "link")))
	for text, want := range map[string]string{
		"x": "x", "./x/": "x", "link": "link", "link/x": "link/x", "link/..": "far", "link/../x": "far/x", "link/../../x": "x",
		"absent/../x": "x", "far/dir/../../x": "x", "link/../dir/..": "far", "link/absent/../..": "far",
	} {
		for _, base := range []string{root, ""} {
			t.Chdir(root)
			got, err := parsePath(text, base)
			require.NoError(t, err, text)
			require.Equal(t, filepath.Join(root, want), got, text)
		}
		got, err := parsePath(root+"/"+text, "/elsewhere")
		require.NoError(t, err, text)
		require.Equal(t, filepath.Join(root, want), got, text)
	}
	got, err := parsePath("/../../x", "")
	require.NoError(t, err)
	require.Equal(t, "/x", got)

	t.Chdir(filepath.Join(root, "link"))
	t.Setenv("PWD", filepath.Join(root, "link")) // as a shell has it
	got, err = parsePath("../x", "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "far/x"), got)
}

func TestNoPathInADirectoryThatHasGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir))
	_, err := parsePath("x", "")
	require.ErrorContains(t, err, "give the whole path")
	_, err = parsePath("/x", "")
	require.NoError(t, err)
}
