package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is one way to change a tree. prepare makes what it needs, natively, in a
// directory of its own; open, if there is one, takes the handles while the
// lease is held; run is what must be refused, or must act as on a plain
// directory. A row with open is a handle row, one without a path row.
type row struct {
	name    string
	prepare func(t testing.TB, dir string)
	open    func(b *box) error
	run     func(b *box) error

	// refusal is what a refused run may say; nil means EROFS alone.
	refusal []string
	// times lists the files whose mtime the row sets to a value of its own,
	// which therefore is compared with the plain directory's.
	times []string
}

func (r row) isHandle() bool { return r.open != nil }

// slug is the row's directory.
func (r row) slug() string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, r.name)
}

func (r row) refusals() []string {
	if r.refusal != nil {
		return r.refusal
	}
	return []string{"EROFS"}
}

// allRows is every row, one file of the package per group.
func allRows() []row {
	var all []row
	for _, group := range [][]row{
		openRows(), pathRows(), handleRows(), mapRows(), nameRows(), renameRows(), attrRows(), xattrRows(), flagRows(),
	} {
		all = append(all, group...)
	}
	return all
}

func findRow(name string) (row, bool) {
	for _, r := range allRows() {
		if r.name == name {
			return r, true
		}
	}
	return row{}, false
}

// rowsDir is where the rows' directories lie within a tree.
const rowsDir = "rows"

// prepareRows makes the directory of every row below tree.
func prepareRows(t testing.TB, tree string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(tree, rowsDir), 0o755))
	for _, r := range allRows() {
		dir := filepath.Join(tree, rowsDir, r.slug())
		require.NoError(t, os.Mkdir(dir, 0o755))
		if r.prepare != nil {
			r.prepare(t, dir)
		}
	}
}

// body is the content of prepared files: more than two pages, so that a range
// in the middle exists, and no two blocks alike.
func body() []byte {
	text := make([]byte, 0, 10000)
	for len(text) < 10000 {
		text = append(text, byte('a'+len(text)/7%26))
	}
	return text
}

// withFiles prepares ordinary files of the same content.
func withFiles(names ...string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, body(), 0o644))
			require.NoError(t, os.Chmod(path, 0o644))
		}
	}
}

// withDir prepares an empty directory.
func withDir(name string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
}

// withLink prepares a symlink and the file that it names.
func withLink(name, target string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		withFiles(target)(t, dir)
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
}

func prepareAll(steps ...func(testing.TB, string)) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		for _, step := range steps {
			step(t, dir)
		}
	}
}
