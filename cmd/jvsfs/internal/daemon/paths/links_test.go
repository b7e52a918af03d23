package paths

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
)

// tree is a source with a worktree in each of its directories.
type tree struct{ fd int }

func (t tree) SourceFD() int { return t.fd }

func (t tree) WorktreeOf(rel string) (lease.WorktreeID, bool) {
	first, _, _ := strings.Cut(rel, "/")
	return lease.WorktreeID(first), first != ""
}

func (tree) RootOf(id lease.WorktreeID) string { return string(id) }

func (tree) Device() (major, minor uint32) { return 0, 7 }

// over are the paths of a mount at /mnt of the directory root.
func over(t *testing.T, root string) *Paths {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	p := New("/mnt", place.Place{Shape: api.ShapeWorktree})
	p.Over(tree{fd})
	return p
}

// A lease of the place that the text of a path names is refused where a link leads its writes to another place.
func TestALinkOutOfAWorktreeIsRefused(t *testing.T) {
	root := testkit.Tree(t, "a/sub", "b")
	for name, target := range map[string]string{"a/in": "sub", "a/other": "../b", "a/out": "../../elsewhere", "a/own": "/mnt/a/sub", "a/abs": "/etc", "a/loop": "loop"} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	p := over(t, root)
	for path, says := range map[string]string{
		"a/sub": "", "a/none": "", "a/in": "", "a/own": "", "a/in/x": "",
		"a/other": "/mnt/b", "a/other/x": "/mnt/b/x",
	} {
		err := p.RefuseLink("a", path, 0, "says nothing about that")
		if says == "" {
			require.NoError(t, err, path)
			continue
		}
		require.ErrorContains(t, err, "leads from there to "+says+", and the lease of worktree a", path)
		require.ErrorContains(t, p.RefuseLink("a", path, 1000, "x"), "to another place,", "a user is not told where: %s", path)
	}
	for _, path := range []string{"a/out", "a/abs", "a/loop"} { // its text leads to no place of the mount, and its worktree is no link
		_, followed, inside := p.follow(path)
		require.Equal(t, []bool{true, false}, []bool{followed, inside}, path)
	}
}

func TestAPathHasItsNameInTheMount(t *testing.T) {
	p := over(t, testkit.Tree(t, "a"))
	require.Equal(t, "/mnt/a", p.PathOf("a"))
	require.Equal(t, "/mnt", p.PathOf(""))
	require.Equal(t, "/mnt/a/x", p.Below("a/x"))
	require.True(t, p.IsDir("a"))
	require.False(t, p.IsDir("b"))
	require.NoError(t, p.MustExist("a", 1000))
	require.ErrorContains(t, p.MustExist("b", 1000), "there is no worktree b")
	require.NoError(t, p.MustExist("b", 0), "root may name one that is made later")
}
