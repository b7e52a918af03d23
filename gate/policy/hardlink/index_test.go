package hardlink

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// repository is a source with files in main that also have a name outside of it.
type repository struct {
	*testing.T
	dir    string
	source *tree.Tree
	index  *Index
	killed chan struct{}
}

func newRepository(t *testing.T, files int) *repository {
	t.Helper()
	r := &repository{T: t, dir: t.TempDir(), killed: make(chan struct{})}
	for _, d := range []string{".jvs/locks", "main/d", "worktrees/a"} {
		require.NoError(t, os.MkdirAll(filepath.Join(r.dir, d), 0o755))
	}
	outside := t.TempDir()
	for i := range files {
		f := r.at(fmt.Sprint("main/d/", i))
		require.NoError(t, os.WriteFile(f, nil, 0o644))
		require.NoError(t, os.Link(f, filepath.Join(outside, fmt.Sprint(i))))
	}
	pin := func(path string) int {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	r.source = tree.New(pin(r.dir), pin("/proc/self/fd"), true)
	l, err := layout.New(layout.JVS, "")
	require.NoError(t, err)
	r.index = New(Config{
		Tree: r.source, Layout: func() layout.Layout { return l }, Entry: l.Entry, RootAt: func(tree.Key) (layout.Entry, bool) { return layout.Entry{}, false },
		Moves: func() uint64 { return 0 }, Away: func(gate.Request) (<-chan struct{}, func()) { return r.killed, func() {} }, Failed: func(error) {}, Unknown: func(uint64, error) {},
	})
	t.Cleanup(r.index.Close)
	return r
}

func (r *repository) at(rel string) string { return filepath.Join(r.dir, rel) }

// file is one of which nothing is known yet.
func (r *repository) file(rel string) File {
	r.Helper()
	fd, st, err := tree.Pin(r.source.Root(), rel)
	require.NoError(r, err)
	r.Cleanup(func() { _ = unix.Close(fd) })
	return File{Key: tree.KeyOf(&st), FD: fd, Names: new(Names)}
}

func (r *repository) walks() uint64 {
	walks, _ := r.index.Walks()
	return walks
}

// Callers that come at once share a walk. A walk that failed is not repeated by each touch.
func TestWalksAreSharedAndFailuresRemembered(t *testing.T) {
	const files = 64
	r := newRepository(t, files)
	resume := r.index.Pause()
	var wg sync.WaitGroup
	for i := range files {
		f := r.file(fmt.Sprint("main/d/", i))
		wg.Go(func() {
			if err := r.index.Learn(f, gate.Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool {
		r.index.mu.Lock()
		defer r.index.mu.Unlock()
		return r.index.next != nil && len(r.index.next.wanted) == files
	}, time.Minute, time.Millisecond)
	resume()
	wg.Wait()
	require.EqualValues(t, 1, r.walks())

	r.index.failed = failure{errTooLong, time.Now().Add(time.Hour)}
	r.index.known = nil
	for i := range files {
		require.ErrorIs(t, r.index.Learn(r.file(fmt.Sprint("main/d/", i)), gate.Request{}), errUnknown)
	}
	require.EqualValues(t, 1, r.walks())
}

// There are more files than are remembered. Those that are asked for are found all the same.
func TestAWalkFindsFilesBeyondThoseRemembered(t *testing.T) {
	r := newRepository(t, 3)
	require.NoError(t, os.Link(r.at("main/d/0"), r.at("worktrees/a/f")))
	f := r.file("main/d/0")
	full := make(map[tree.Key]found)
	for i := range remembered {
		full[tree.Key{Ino: uint64(i)}] = found{}
	}
	w := scan{x: r.index, until: time.Now().Add(time.Hour), wanted: map[tree.Key]bool{f.Key: true}, found: full}
	require.NoError(t, w.run())
	require.Len(t, w.found, remembered+1)
	require.Len(t, w.found[f.Key].rules, 2)
}

// What another program does to the names is noticed; what comes through the mount is no such change.
func TestOnlyChangesByOthersMakeNamesUnknown(t *testing.T) {
	r := newRepository(t, 1)
	f := r.file("main/d/0")
	known := func() bool {
		t.Helper()
		known, err := r.index.Known(f)
		require.NoError(t, err)
		return known
	}
	require.False(t, known(), "it has a name that nobody has looked for")
	require.NoError(t, r.index.Learn(f, gate.Request{}))
	require.True(t, known())
	later := func() { // the clock of the file system has steps
		var was, is unix.Stat_t
		require.NoError(t, unix.Fstat(f.FD, &was))
		require.Eventually(t, func() bool {
			require.NoError(t, os.Chmod(r.at("main/d/0"), 0o600))
			require.NoError(t, unix.Fstat(f.FD, &is))
			return is.Ctim != was.Ctim
		}, time.Minute, time.Millisecond)
	}
	f.Names.Begin(f.FD)
	later()
	f.Names.End(f.FD)
	require.True(t, known(), "the mount has changed it")
	later()
	require.False(t, known(), "somebody else has")
	f.Names.Begin(f.FD) // a change of ours must not hide it
	later()
	f.Names.End(f.FD)
	require.False(t, known())
	require.NoError(t, os.Link(r.at("main/d/0"), r.at("worktrees/a/f")))
	require.NoError(t, r.index.Learn(f, gate.Request{}))
	require.Len(t, f.Names.Rules(), 2)
	require.NoError(t, os.Link(r.at("main/d/0"), r.at("main/again")))
	require.False(t, known())
}

func TestAKilledCallerLearnsNothing(t *testing.T) {
	r := newRepository(t, 1)
	defer r.index.Pause()()
	close(r.killed)
	require.ErrorIs(t, r.index.Learn(r.file("main/d/0"), gate.Request{}), syscall.EINTR)
}
