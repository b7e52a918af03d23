package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// WithOpenRoot lets everybody write into the root, as far as modes go.
func WithOpenRoot(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, unix.Chmod(dir, 0o777))
}

// TB is testing.TB: rows are written in one line each.
type TB = testing.TB

// Must ends the test when what it needs cannot be made.
func Must(t TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

// Body is the content of prepared files: more than two pages, so that a range
// in the middle exists, and no two blocks alike.
func Body() []byte {
	text := make([]byte, 0, 10000)
	for len(text) < 10000 {
		text = append(text, byte('a'+len(text)/7%26))
	}
	return text
}

// WithFiles prepares ordinary files of the same content.
func WithFiles(names ...string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, Body(), 0o644))
			require.NoError(t, os.Chmod(path, 0o644))
		}
	}
}

// WithDir prepares an empty directory.
func WithDir(name string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
}

// WithLink prepares a symlink and the file that it names.
func WithLink(name, target string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		WithFiles(target)(t, dir)
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
}

// PrepareAll does several preparations.
func PrepareAll(steps ...func(testing.TB, string)) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		for _, step := range steps {
			step(t, dir)
		}
	}
}
