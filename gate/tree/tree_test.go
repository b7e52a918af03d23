package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newTree is the tree of a directory that is nobody's mount: as a user has mounted it.
func newTree(t *testing.T) (dir string, tree *Tree, open func(rel string) int) {
	t.Helper()
	dir = t.TempDir()
	pin := func(path string) int {
		t.Helper()
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	return dir, New(pin(dir), pin("/proc/self/fd"), true), func(rel string) int { return pin(filepath.Join(dir, rel)) }
}

// Users write what lies there, so nothing leads out, and nothing stops who reads.
func TestNoPathLeadsOutOfTheSource(t *testing.T) {
	dir, tree, _ := newTree(t)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d/f"), []byte("12345"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("d", filepath.Join(dir, "dirlink")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	for rel, want := range map[string]error{
		"link": unix.ELOOP, "dirlink/f": unix.ELOOP, "../" + filepath.Base(filepath.Dir(outside)) + "/secret": unix.EXDEV, outside: unix.EXDEV,
		"none": unix.ENOENT, "fifo": unix.EFBIG, "d": unix.EFBIG,
	} {
		_, err := tree.Read(rel, 100)
		require.ErrorIs(t, err, want, rel)
	}
	text, err := tree.Read("d/f", 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(text))
	_, err = tree.Read("d/f", 4)
	require.ErrorIs(t, err, unix.EFBIG)
	require.True(t, tree.Exists("d/f"))
	require.True(t, tree.Exists(""))
	require.False(t, tree.Exists("dirlink/f"))
	require.ErrorIs(t, tree.Look("none"), unix.ENOENT)
}

// A place follows its inode, and ends with its name.
func TestAPlaceFollowsItsInode(t *testing.T) {
	dir, tree, open := newTree(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d/f"), nil, 0o644))
	root, d, f := open(""), open("d"), open("d/f")
	place, ok := tree.Place(root)
	require.True(t, ok)
	require.Equal(t, "/", place)
	rel, ok := tree.Path(root)
	require.True(t, ok)
	require.Empty(t, rel)
	rel, ok = tree.PathOf(root, "new")
	require.True(t, ok)
	require.Equal(t, "new", rel)
	require.NoError(t, os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")))
	rel, ok = tree.Path(f)
	require.True(t, ok)
	require.Equal(t, "e/f", rel)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
	for _, fd := range []int{d, f} {
		_, ok = tree.Path(fd)
		require.False(t, ok)
	}
	other, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(other) })
	_, ok = tree.Place(other)
	require.False(t, ok, "what lies elsewhere has no place")
}

func TestNamesEndWhenNobodyWantsMore(t *testing.T) {
	dir, tree, _ := newTree(t)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	var all []string
	require.NoError(t, tree.Names("", func(name string) bool { all = append(all, name); return true }))
	require.ElementsMatch(t, []string{"a", "b", "c"}, all)
	n := 0
	require.NoError(t, tree.Names("", func(string) bool { n++; return n < 2 }))
	require.Equal(t, 2, n)
	require.ErrorIs(t, tree.Names("none", nil), unix.ENOENT)
	require.ErrorIs(t, tree.Names("a", nil), unix.ENOTDIR)
}

// Whoever makes directories may end their names as the kernel marks what is deleted, or lay them deeper than a path reaches.
func TestAPlaceIsToldWhateverANameIs(t *testing.T) {
	dir, tree, open := newTree(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d (deleted)"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d (deleted)/f (deleted)"), nil, 0o644))
	d, f := open("d (deleted)"), open("d (deleted)/f (deleted)")
	for fd, want := range map[int]string{d: "d (deleted)", f: "d (deleted)/f (deleted)"} {
		rel, ok := tree.Path(fd)
		require.True(t, ok)
		require.Equal(t, want, rel)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "d (deleted)/f (deleted)")))
	_, ok := tree.Path(f)
	require.False(t, ok)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d (deleted)/f (deleted) (deleted)"), nil, 0o644))
	_, ok = tree.Path(f)
	require.False(t, ok, "what has the name that the kernel tells is another file")

	at := open("")
	for range 17 {
		name := strings.Repeat("n", 250)
		require.False(t, tree.TooLong(at))
		require.NoError(t, unix.Mkdirat(at, name, 0o755))
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(next) })
		at = next
	}
	_, ok = tree.Path(at)
	require.False(t, ok)
	require.True(t, tree.TooLong(at))
	require.False(t, tree.TooLong(f))
}
