package fusefs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/inotify"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// placed is a file system that remembers where directories are. What inotify tells is heard when a test says so.
type placed struct {
	*testing.T
	f    *rawFS
	root string
}

func newPlaced(t *testing.T, dirs ...string) placed {
	t.Helper()
	p := placed{t, nil, t.TempDir()}
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(p.path(dir), 0o755))
	}
	fd, err := unix.Open(p.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	clock := lease.SystemClock()
	r := gate.NewResolver(clock)
	g := gate.NewGuard(gate.GuardConfig{Worktree: "w", Mode: gate.Shared, Clock: clock, Resolver: r})
	g.Bind(&freeKeeper{})
	p.f, err = newRawFS(Options{Source: p.root, Enforcement: gate.NewEnforcement(gate.Enforcing), Layout: laidOut(layout.Tree, "w"), Guards: func(lease.WorktreeID) (*gate.Guard, error) { return g, nil }}, fd)
	require.NoError(t, err)
	p.f.places = newKnownPlaces()
	require.NotNil(t, p.f.places.inotify)
	p.f.places.hears.Store(true)
	t.Cleanup(func() { r.Close(); _ = p.f.close() })
	return p
}

func (p placed) path(rel string) string { return filepath.Join(p.root, rel) }

// node is the directory as the kernel has looked it up.
func (p placed) node(names ...string) *node {
	p.Helper()
	n := p.f.root
	for _, name := range names {
		var out fuse.EntryOut
		h := fuse.InHeader{NodeId: n.id}
		require.Equal(p, fuse.OK, p.f.Lookup(nil, &h, name, &out))
		n = p.f.nodes.get(out.NodeId)
	}
	return n
}

// is asks where a directory is.
func (p placed) is(n *node, rel string) {
	p.Helper()
	at, ok := p.f.dirPath(n)
	require.True(p, ok)
	require.Equal(p, p.path(rel), at)
}

func (p placed) remembered(n *node) bool {
	_, ok := p.f.places.of(n)
	return ok
}

// hears takes in the moves past the mount so far.
func (p placed) hears() {
	p.Helper()
	defer time.AfterFunc(10*time.Second, p.f.places.inotify.Close).Stop()
	_, err := p.f.places.inotify.Next(p.f.places.heard)
	require.NoError(p, err, "nothing was told")
}

func (p placed) rename(flags uint32, from *node, oldName string, to *node, newName string) {
	p.Helper()
	in := fuse.RenameIn{InHeader: fuse.InHeader{NodeId: from.id, Caller: fuse.Caller{Pid: uint32(unix.Gettid())}}, Newdir: to.id, Flags: flags}
	require.Equal(p, fuse.OK, p.f.Rename(nil, &in, oldName, newName))
}

// What is remembered of a directory and of all below it ends with a rename through the mount, before that is answered.
func TestARenameForgetsThePlacesBelowTheDirectory(t *testing.T) {
	p := newPlaced(t, "a/b/c", "d")
	c := p.node("a", "b", "c")
	p.is(c, "a/b/c")
	require.True(t, p.remembered(c))
	p.rename(0, p.f.root, "a", p.node("d"), "e")
	require.False(t, p.remembered(c), "nothing was heard yet")
	p.is(c, "d/e/b/c")
	require.True(t, p.remembered(c))
}

// An exchange moves what it takes away, too.
func TestAnExchangeForgetsThePlacesBelowBothDirectories(t *testing.T) {
	p := newPlaced(t, "a/b", "c/d")
	b, d := p.node("a", "b"), p.node("c", "d")
	p.is(b, "a/b")
	p.is(d, "c/d")
	p.rename(unix.RENAME_EXCHANGE, p.f.root, "a", p.f.root, "c")
	require.False(t, p.remembered(b) || p.remembered(d))
	p.is(b, "c/b")
	p.is(d, "a/d")
}

// While a rename is under way nobody knows which place counts.
func TestNoPlaceIsRememberedWhileADirectoryMoves(t *testing.T) {
	p := newPlaced(t, "a/b")
	b := p.node("a", "b")
	p.is(b, "a/b")
	end := p.f.places.move()
	require.False(t, p.remembered(b))
	p.is(b, "a/b") // asked in the middle
	require.False(t, p.remembered(b))
	require.NoError(t, os.Rename(p.path("a"), p.path("c")))
	end()
	require.False(t, p.remembered(b))
	p.is(b, "c/b")
}

// A rename past the mount counts as soon as inotify tells: of the directory, and of each above it.
func TestARenamePastTheMountForgetsThePlacesBelow(t *testing.T) {
	for _, moved := range []string{"a", "a/b", "a/b/c"} {
		t.Run(moved, func(t *testing.T) {
			p := newPlaced(t, "a/b/c", "elsewhere")
			c := p.node("a", "b", "c")
			p.is(c, "a/b/c")
			require.True(t, p.remembered(c))
			require.NoError(t, os.Rename(p.path(moved), p.path("elsewhere/x")))
			p.hears()
			require.False(t, p.remembered(c))
			rest, err := filepath.Rel(moved, "a/b/c")
			require.NoError(t, err)
			p.is(c, filepath.Join("elsewhere/x", rest))
		})
	}
}

// A directory that has moved past the mount to where the kernel has not seen it is asked each time: those above it are not watched.
func TestADirectoryMovedPastTheMountToAnUnknownPlaceIsAskedEachTime(t *testing.T) {
	p := newPlaced(t, "a/b", "c")
	b := p.node("a", "b")
	p.is(p.node("a"), "a")
	require.NoError(t, os.Rename(p.path("a/b"), p.path("c/b")))
	p.is(b, "c/b")
	require.False(t, p.remembered(b))
	require.NoError(t, os.Rename(p.path("c"), p.path("d")))
	p.is(b, "d/b")
	require.Same(t, b, p.node("d", "b"))
	p.is(b, "d/b")
	require.True(t, p.remembered(b), "seen where it is")
}

// Two directories that were each seen in the other: the way up ends.
func TestThePlaceOfDirectoriesSeenInEachOtherIsFoundInBoundedSteps(t *testing.T) {
	p := newPlaced(t, "a/b")
	a, b := p.node("a"), p.node("a", "b")
	a.addParent(b, true)
	p.is(b, "a/b")
	p.is(a, "a")
	require.False(t, p.remembered(a) || p.remembered(b))
}

// With a directory that the kernel forgets its watch goes, and what was remembered below it.
func TestForgottenDirectoriesAreNotWatched(t *testing.T) {
	p := newPlaced(t, "a/b/c")
	a, b, c := p.node("a"), p.node("a", "b"), p.node("a", "b", "c")
	p.is(c, "a/b/c")
	require.Equal(t, 3, p.f.places.watched.Len())
	p.f.Forget(a.id, a.lookups)
	require.False(t, p.remembered(b), "nobody would hear of a move of a")
	p.is(c, "a/b/c")
	p.is(b, "a/b")
	require.False(t, p.remembered(b) || p.remembered(c))
	p.f.Forget(c.id, c.lookups)
	p.f.Forget(b.id, b.lookups)
	require.Zero(t, p.f.places.watched.Len())
}

// What cannot be watched is asked each time.
func TestPlacesBeyondTheBoundAreAsked(t *testing.T) {
	p := newPlaced(t, "a", "b")
	p.f.places.most = 1
	a, b := p.node("a"), p.node("b")
	p.is(a, "a")
	p.is(b, "b")
	require.True(t, p.remembered(a))
	require.False(t, p.remembered(b))
	require.NoError(t, os.Rename(p.path("b"), p.path("c")))
	p.is(b, "c")
}

// Events that the kernel has lost may have been of any directory; so may a watch that it has ended.
func TestLostInotifyEventsForgetAllPlaces(t *testing.T) {
	p := newPlaced(t, "a")
	a := p.node("a")
	p.is(a, "a")
	its, _ := p.f.places.watched.By[a]
	for _, event := range []struct {
		watch int32
		mask  uint32
		ends  bool
	}{{-1, unix.IN_Q_OVERFLOW, true}, {1 << 20, unix.IN_IGNORED, false}, {its, unix.IN_IGNORED, true}} {
		p.is(a, "a")
		require.True(t, p.remembered(a))
		p.f.places.heard(inotify.Event{Watch: event.watch, Mask: event.mask})
		require.Equal(t, !event.ends, p.remembered(a))
	}
}
