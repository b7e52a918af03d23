package fence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// row is one way to change a tree. prepare makes what it needs, natively, in a
// directory of its own; open, if there is one, takes the handles while the
// lease is held; run is what must be refused, or must act as on a plain
// directory. A row with open is a handle row, one without a path row.
type row struct {
	name      string
	prepare   func(t testing.TB, dir string)
	open, run string // lines of operations

	// refusal is what a refused run may say; nil means EROFS alone.
	refusal []string
	// times lists the files whose mtime the row sets to a value of its own,
	// which therefore is compared with the plain directory's.
	times []string
}

func (r row) isHandle() bool { return r.open != "" }

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

// dir is the row's directory in a tree. An actor has a box for each, so that it can hold the handles of all rows
// of several trees at once.
func (r row) dir(tree string) string { return filepath.Join(tree, rowsDir, r.slug()) }

// opens takes the handles of the row.
func (r row) opens(t *testing.T, a *harness.Actor, tree string) harness.Reply {
	t.Helper()
	return play(t, a, r.dir(tree), r.open)
}

// runs does what the row is about. What a path row has open goes at once, whatever came of it.
func (r row) runs(t *testing.T, a *harness.Actor, tree string) harness.Reply {
	t.Helper()
	told := play(t, a, r.dir(tree), r.run)
	if !r.isHandle() {
		r.drops(t, a, tree)
	}
	return told
}

// drops closes what the row still holds.
func (r row) drops(t *testing.T, a *harness.Actor, tree string) {
	t.Helper()
	play(t, a, r.dir(tree), "drop")
}

// play performs lines in a directory up to the first that fails. The answer is the last one, with the numbers that
// all of them returned.
func play(t *testing.T, a *harness.Actor, dir, lines string) (told harness.Reply) {
	t.Helper()
	var vals []int64
	for _, c := range below(dir, lines) {
		got, err := a.Try(c)
		require.NoError(t, err)
		vals = append(vals, got.Vals...)
		if told = got; told.Errno != "" {
			told.Note = c.Op + ": " + told.Note
			break
		}
	}
	told.Vals = vals
	return told
}

// below are the commands of lines, in a directory.
func below(dir, lines string) []harness.Command {
	all := operation.Lines(lines)
	for i := range all {
		all[i].Dir = dir
	}
	return all
}

// prepared does some operations more, natively.
func prepared(before func(testing.TB, string), lines string) func(testing.TB, string) {
	return harness.PrepareAll(before, func(t testing.TB, dir string) {
		t.Helper()
		require.NoError(t, operation.Do(dir, lines))
	})
}

// rowsDir is where the rows' directories lie within a tree.
const rowsDir = "rows"

// prepareRows makes the directory of every row below tree.
func prepareRows(t testing.TB, tree string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(tree, rowsDir), 0o755))
	for _, r := range allRows() {
		dir := r.dir(tree)
		require.NoError(t, os.Mkdir(dir, 0o755))
		if r.prepare != nil {
			r.prepare(t, dir)
		}
	}
}
