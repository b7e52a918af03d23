package fusefs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// believing is a backing file system that appends where it was last asked for the size of the file, as a client of a
// store does that does not know of other hosts. The kernel above believes sizes for an hour.
type believing struct {
	fuse.RawFileSystem

	mu    sync.Mutex
	size  uint64 // of the one file
	asked int
	fail  bool
}

// newBelieving serves a directory with the file f, and returns where it is seen and where it lies.
func newBelieving(t *testing.T) (b *believing, dir, back string) {
	t.Helper()
	back, dir = t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(back, "f"), nil, 0o600))
	root, err := fs.NewLoopbackRoot(back)
	require.NoError(t, err)
	long := time.Hour
	b = &believing{RawFileSystem: fs.NewNodeFS(root, &fs.Options{EntryTimeout: &long, AttrTimeout: &long})}
	server, err := fuse.NewServer(b, dir, &fuse.MountOptions{DirectMountStrict: true, FsName: "believing"})
	require.NoError(t, err)
	go server.Serve() // until the unmount
	t.Cleanup(func() { require.NoError(t, server.Unmount()) })
	settle(t, dir)
	return b, dir, back
}

func (b *believing) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	st := b.RawFileSystem.GetAttr(cancel, in, out)
	b.mu.Lock()
	defer b.mu.Unlock()
	if st != fuse.OK || out.Mode&unix.S_IFMT != unix.S_IFREG {
		return st
	}
	if b.fail {
		return fuse.EIO
	}
	b.size, b.asked = out.Size, b.asked+1
	return fuse.OK
}

// Open leaves it to Write where an append goes, and has the kernel ask for each write.
func (b *believing) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	in.Flags &^= unix.O_APPEND
	st := b.RawFileSystem.Open(cancel, in, out)
	out.OpenFlags &^= fuse.FOPEN_PASSTHROUGH
	return st
}

func (b *believing) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in.Flags&unix.O_APPEND != 0 {
		in.Offset = b.size
	}
	n, st := b.RawFileSystem.Write(cancel, in, data)
	b.size = max(b.size, in.Offset+uint64(n))
	return n, st
}

func (b *believing) looks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// The first append of a handle has the store asked where the file ends. What another host has appended since this
// one last knew the size is not overwritten. The next appends under the same lease do not ask.
func TestTheFirstAppendAsksTheStoreForTheEnd(t *testing.T) {
	b, dir, back := newBelieving(t)
	m := mounted(t, layout.Tree, func(string) {}, func(o *Options) { o.Source = dir })
	grow := func(text string) {
		f, err := os.OpenFile(filepath.Join(back, "f"), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	stored := func() string {
		text, err := os.ReadFile(filepath.Join(back, "f"))
		require.NoError(t, err)
		return string(text)
	}
	_, err := os.Stat(m.at("f"))
	require.NoError(t, err)
	turn := func(token lease.Token) {
		defer m.hold(t, "tree", token).Close(lease.Loss{Kind: lease.LossReleased})
		require.NoError(t, os.WriteFile(filepath.Join(back, "f"), nil, 0o600))
		f, err := os.OpenFile(m.at("f"), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		defer f.Close()
		grow("of another host\n")
		_, err = f.WriteString("one\n")
		require.NoError(t, err)
		before := b.looks()
		_, err = f.WriteString("two\n")
		require.NoError(t, err)
		require.Equal(t, before, b.looks(), "the lease lasts")
		require.Equal(t, "of another host\none\ntwo\n", stored())
	}
	turn(1)
	turn(2)
}

// Where the end is not known, nothing is appended.
func TestAnAppendWithoutAKnownEndFails(t *testing.T) {
	b, dir, back := newBelieving(t)
	m := mounted(t, layout.Tree, func(string) {}, func(o *Options) { o.Source = dir })
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	b.mu.Lock()
	b.fail = true
	b.mu.Unlock()
	_, err = f.WriteString("one\n")
	require.ErrorIs(t, err, unix.EIO)
	b.mu.Lock()
	b.fail = false
	b.mu.Unlock()
	_, err = f.WriteString("one\n")
	require.NoError(t, err, "it is asked again")
	text, err := os.ReadFile(filepath.Join(back, "f"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(text))
}
