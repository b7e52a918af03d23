package place

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTreeID(t *testing.T) {
	a := treeID{Path: "/a", Inode: 5, Born: 100, Handle: "1:aa", UUID: "u"}
	for name, c := range map[string]struct {
		b  treeID
		is bool
	}{
		"the same":                            {a, true},
		"renamed":                             {treeID{"/b", 5, 100, "1:aa", "u"}, true},
		"another inode":                       {treeID{"/a", 6, 100, "1:aa", "u"}, false},
		"the inode's number given again":      {treeID{"/a", 5, 101, "1:aa", "u"}, false},
		"another generation":                  {treeID{"/a", 5, 100, "1:ab", "u"}, false},
		"another file system":                 {treeID{"/a", 5, 100, "1:aa", "v"}, false},
		"a kernel that knows less":            {treeID{"/b", 5, 100, "", ""}, true},
		"nothing but a number, renamed":       {treeID{"/b", 5, 0, "", ""}, false},
		"nothing but a number, at its place":  {treeID{"/a", 5, 0, "", ""}, true},
		"no time of birth, on the same store": {treeID{"/b", 5, 0, "1:aa", "u"}, true},
	} {
		require.Equal(t, c.is, a.is(c.b), name)
		require.Equal(t, c.is, c.b.is(a), name)
	}
}

// On FUSE a directory is the same when the file system is served anew, although its handle is another.
func TestADirectoryOfFUSEStaysTheSame(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and /dev/fuse")
	}
	back, at := t.TempDir(), t.TempDir()
	work := filepath.Join(at, "work")
	require.NoError(t, os.MkdirAll(filepath.Join(back, "work"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(back, "other"), 0o755))
	look := func(before ...string) (id treeID, handle string) {
		root, err := fs.NewLoopbackRoot(back)
		require.NoError(t, err)
		server, err := fs.Mount(at, root, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Unmount()) }()
		for _, name := range before {
			_, err := os.Stat(filepath.Join(at, name))
			require.NoError(t, err)
		}
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, work, 0)
		require.NoError(t, err)
		id, err = identifyTree(work)
		require.NoError(t, err)
		return id, hex.EncodeToString(h.Bytes())
	}
	one, first := look()
	two, second := look("other")
	require.NotEqual(t, first, second, "the numbers of the server")
	require.True(t, one.is(two), "%+v %+v", one, two)
}

func TestTreeFileIsBounded(t *testing.T) {
	f := &treeFile{}
	for i := range uint64(3 * maxTrees) {
		f.add(treeID{Inode: i, Born: 1})
	}
	f.add(treeID{Inode: 40, Born: 1, Path: "/moved"})
	require.Len(t, f.Trees, maxTrees)
	require.Equal(t, "/moved", f.Trees[maxTrees-1].Path)
}

// No name beside records can be a worktree's.
func TestTreeNamesAreNoWorktrees(t *testing.T) {
	for _, name := range []string{treeName("x"), repositoryFile, treeName("x") + ".12"} {
		require.Contains(t, name, "#")
		require.NotRegexp(t, `\.lock$|\.claim\.`, name)
	}
}
