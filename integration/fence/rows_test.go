package fence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// row is one way to change a tree. prepare makes what it needs, natively, in a
// directory of its own; open, if there is one, takes the handles while the
// lease is held; run is what must be refused, or must act as on a plain
// directory. A row with open is a handle row, one without a path row.
type row struct {
	name    string
	prepare func(t testing.TB, dir string)
	open    func(b *harness.Box) error
	run     func(b *harness.Box) error

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
