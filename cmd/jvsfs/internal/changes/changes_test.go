package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compared tells what f does to a directory that has files. Their text is their name.
func compared(t *testing.T, files []string, f func(at func(string) string)) Report {
	t.Helper()
	return comparedWith(t, held, files, f)
}

func comparedWith(t *testing.T, most int, files []string, f func(at func(string) string)) Report {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range files {
		put(t, at(name), name)
	}
	root, err := OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	tree, err := Take(int(root.Fd()), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tree.Close()) }()
	f(at)
	r, err := tree.since(most, nil)
	require.NoError(t, err)
	for kind, n := range r.Counts {
		if n == 0 {
			delete(r.Counts, kind)
		}
	}
	return r
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func told(r Report) string {
	var b strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%c %s", c.Kind, c.Path)
		if c.From != "" {
			fmt.Fprintf(&b, " from %s", c.From)
		}
		if c.Within > 0 {
			fmt.Fprintf(&b, " +%d", c.Within)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWhatHappenedToATree(t *testing.T) {
	files := []string{"a", "b", "d/one", "d/two", "d.x", "e/f/g", ".git/HEAD", ".jvs/x", "wt/sub/file", "module/file"}
	for name, c := range map[string]struct {
		do   func(t *testing.T, at func(string) string)
		want string
	}{
		"nothing": {func(*testing.T, func(string) string) {}, ""},
		"added":   {func(t *testing.T, at func(string) string) { put(t, at("new"), "x") }, "A new\n"},
		"a tree":  {func(t *testing.T, at func(string) string) { put(t, at("n/1/x"), "x"); put(t, at("n/y"), "y") }, "A n +3\n"},
		"written": {func(t *testing.T, at func(string) string) { put(t, at("a"), "xyz") }, "M a\n"},
		"same size": {func(t *testing.T, at func(string) string) {
			put(t, at("a"), "z")
			require.NoError(t, os.Chtimes(at("a"), time.Unix(1, 0), time.Unix(1, 0)))
		}, "M a\n"},
		"mode":      {func(t *testing.T, at func(string) string) { require.NoError(t, os.Chmod(at("a"), 0o640)) }, "M a\n"},
		"mode of d": {func(t *testing.T, at func(string) string) { require.NoError(t, os.Chmod(at("d"), 0o750)) }, "M d\n"},
		"removed":   {func(t *testing.T, at func(string) string) { require.NoError(t, os.Remove(at("b"))) }, "D b\n"},
		"all of d":  {func(t *testing.T, at func(string) string) { require.NoError(t, os.RemoveAll(at("d"))) }, "D d +2\n"},
		"renamed":   {func(t *testing.T, at func(string) string) { require.NoError(t, os.Rename(at("a"), at("z"))) }, "R z from a\n"},
		"moved": {func(t *testing.T, at func(string) string) {
			require.NoError(t, os.Mkdir(at("n"), 0o755))
			require.NoError(t, os.Rename(at("a"), at("n/a")))
		}, "A n\nR n/a from a\n"},
		"moved over": {func(t *testing.T, at func(string) string) { require.NoError(t, os.Rename(at("a"), at("b"))) }, "R b from a\n"},
		"d renamed":  {func(t *testing.T, at func(string) string) { require.NoError(t, os.Rename(at("e"), at("ee"))) }, "R ee from e\n"},
		"d renamed and more": {func(t *testing.T, at func(string) string) {
			require.NoError(t, os.Rename(at("d"), at("dd")))
			require.NoError(t, os.Rename(at("dd/one"), at("dd/uno")))
			require.NoError(t, os.Remove(at("dd/two")))
		}, "D d/two\nR dd from d\nR dd/uno from d/one\n"},
		"an editor saves": {func(t *testing.T, at func(string) string) {
			put(t, at("a~"), "x")
			require.NoError(t, os.Rename(at("a~"), at("a")))
		}, "M a\n"},
		"a link instead": {func(t *testing.T, at func(string) string) {
			require.NoError(t, os.Remove(at("a")))
			require.NoError(t, os.Symlink("/etc/passwd", at("a")))
		}, "M a\n"},
		"order": {func(t *testing.T, at func(string) string) {
			put(t, at("d.x"), "1")
			put(t, at("d/one"), "1")
			put(t, at("d-"), "1")
		}, "M d/one\nA d-\nM d.x\n"},
		"in repositories": {func(t *testing.T, at func(string) string) {
			put(t, at(".git/x"), "1")
			put(t, at(".jvs/x"), "1")
			put(t, at("d/.git/x"), "1")
		}, ""},
		"a linked checkout comes": {func(t *testing.T, at func(string) string) {
			put(t, at("w/1/.git"), "gitdir: /srv/r/.git/worktrees/1\n")
			put(t, at("w/1/f"), "1")
		}, "A w +1\n"},
		"in a submodule": {func(t *testing.T, at func(string) string) {
			put(t, at("module/.git"), "gitdir: ../.git/modules/module\n")
			put(t, at("module/new"), "1")
		}, "A module/.git\nA module/new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := compared(t, files, func(at func(string) string) { c.do(t, at) })
			require.Equal(t, c.want, told(r))
			sum := 0
			for _, n := range r.Counts {
				sum += n
			}
			for _, c := range r.Changes {
				sum -= 1 + c.Within
			}
			require.Zero(t, sum, "the counts are those of the names: %v", r.Counts)
		})
	}
}

// A new file may get the inode of a removed one. It was not renamed.
func TestANewFileWithAnOldInodeIsNew(t *testing.T) {
	old := Entry{Path: "a", Mode: 0o100644, Inode: 7, Size: 3, MTime: 1, BTime: 1}
	for what, now := range map[string]Entry{
		"by its birth":  {Mode: 0o100644, Inode: 7, Size: 3, MTime: 1, BTime: 2},
		"by its size":   {Mode: 0o100644, Inode: 7, Size: 4, MTime: 1},
		"by its time":   {Mode: 0o100644, Inode: 7, Size: 3, MTime: 2},
		"by its nature": {Mode: 0o040755, Inode: 7, Size: 3, MTime: 1, BTime: 1},
	} {
		require.False(t, sameFile(old, now), what)
	}
	require.True(t, sameFile(old, Entry{Mode: 0o100600, Inode: 7, Size: 9, MTime: 5, BTime: 1}), "written after the rename")
}

// Beyond what is held in memory, names are counted alone.
func TestManyChangesAreCounted(t *testing.T) {
	r := comparedWith(t, 10, []string{"a"}, func(at func(string) string) {
		require.NoError(t, os.Remove(at("a")))
		for i := range 25 {
			put(t, at(fmt.Sprintf("n%02d", i)), "x")
		}
	})
	require.Equal(t, map[Kind]int{Added: 25, Removed: 1}, r.Counts)
	require.Len(t, r.Changes, 10)
	require.Equal(t, 16, r.Left)
}

// The merge needs both sides in one order: that of a walk.
func TestPathsAreComparedInTheOrderOfAWalk(t *testing.T) {
	want := []string{"a", "a/b", "a/b/c", "a/b.", "a/c", "a\x01", "a-", "a.b", "aa", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePaths)
	require.Equal(t, want, got)
}

func TestTheSpoolKeepsEveryField(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		put(t, filepath.Join(dir, strings.Repeat("d/", i%5), fmt.Sprint(i)), "x")
	}
	root, err := OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	var want, got []Entry
	require.NoError(t, walk(int(root.Fd()), func(e Entry) error { want = append(want, e); return nil }))
	tree, err := Take(int(root.Fd()), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tree.Close()) }()
	in, err := tree.entries()
	require.NoError(t, err)
	for e, err := in.next(); err == nil; e, err = in.next() {
		got = append(got, e)
	}
	require.Equal(t, want, got)
	require.Len(t, got, 304)
}

func TestTheRootIsReachedThroughNoLink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	_, err := OpenRoot(filepath.Join(dir, "link"))
	require.Error(t, err)
}
