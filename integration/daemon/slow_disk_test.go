package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// stalling is a file system whose writes to files with names that begin with "slow" wait until they may go on.
type stalling struct {
	waiting atomic.Int64
	goOn    chan struct{}
	let     sync.Once
}

// stall is what this process serves.
var stall = &stalling{goOn: make(chan struct{})}

func init() {
	operation.Add("stall serve", opStallServe)
	operation.Add("stall waiting", func(s *operation.Box, _ operation.Command) error {
		s.Vals = []int64{stall.waiting.Load()}
		return nil
	})
	operation.Add("stall ends", func(*operation.Box, operation.Command) error {
		stall.let.Do(func() { close(stall.goOn) })
		return nil
	})
}

type stallingNode struct{ *fs.LoopbackNode }

func (n *stallingNode) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &stallingNode{ops.(*fs.LoopbackNode)}
}

func (n *stallingNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, flags, errno := n.LoopbackNode.Open(ctx, flags)
	return stallingFileOf(n.Path(nil), f), flags, errno
}

func (n *stallingNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, f, flags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return inode, stallingFileOf(name, f), flags, errno
}

// stallingFile lacks what lets the kernel write past the server.
type stallingFile struct {
	fs.FileReader
	fs.FileWriter
	fs.FileGetattrer
	fs.FileFsyncer
	fs.FileReleaser
	slow bool
}

func stallingFileOf(name string, f fs.FileHandle) fs.FileHandle {
	if f == nil {
		return nil
	}
	return &stallingFile{
		f.(fs.FileReader), f.(fs.FileWriter), f.(fs.FileGetattrer), f.(fs.FileFsyncer), f.(fs.FileReleaser),
		strings.HasPrefix(filepath.Base(name), "slow"),
	}
}

func (f *stallingFile) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if f.slow {
		stall.waiting.Add(1)
		<-stall.goOn
		stall.waiting.Add(-1)
	}
	return f.FileWriter.Write(ctx, data, off)
}

// opStallServe serves the directory Path at To, until that is unmounted.
func opStallServe(_ *operation.Box, c operation.Command) error {
	root, err := fs.NewLoopbackRoot(c.Path)
	if err != nil {
		return err
	}
	_, err = fs.Mount(c.To, &stallingNode{root.(*fs.LoopbackNode)}, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "stalling", Name: "stalling"},
	})
	return err
}

// newStalling is a mount over such a file system, and the actor that serves that.
func newStalling(t *testing.T) (*harness.Mount, *harness.Actor) {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "allow", Extra: []string{"--local-only"}})
	store, at := filepath.Join(m.Base, "store"), filepath.Join(m.Base, "at")
	for _, dir := range []string{store, at} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	server := harness.StartActor(t, "server")
	server.OK(harness.Command{Op: "stall serve", Path: store, To: at})
	t.Cleanup(func() {
		m.Unmount() // before what it lies over
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	})
	m.Source, m.View = at, at
	m.Mount()
	return m, server
}

// Writes that the disk does not answer, more than there are processors, keep nobody from writing other files, from making
// and removing names, and from making durable what he wrote.
func TestASlowWriteDelaysNobodyElse(t *testing.T) {
	m, server := newStalling(t)
	const slow = 6
	var writers []*harness.Actor
	for i := range slow {
		a := harness.StartActor(t, fmt.Sprint("slow", i))
		a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At(fmt.Sprint("slow", i)), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
		writers = append(writers, a)
	}
	b := harness.StartActor(t, "b")
	t.Cleanup(func() { server.OK(harness.Command{Op: "stall ends"}) }) // before the actors', whatever the test came to
	var writes []<-chan harness.Reply
	for _, a := range writers {
		writes = append(writes, a.Begin(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}))
	}
	harness.Eventually(t, "all slow writes wait for the disk", func() bool {
		return server.OK(harness.Command{Op: "stall waiting"}).Vals[0] == slow
	})
	for i := range 20 {
		name := m.At(fmt.Sprint("quick", i))
		b.OK(harness.Command{Op: "open", Handle: "f", Path: name, Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
		b.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("soon")})
		b.OK(harness.Command{Op: "fsync", Handle: "f"})
		b.OK(harness.Command{Op: "close", Handle: "f"})
		if i > 0 {
			b.OK(harness.Command{Op: "unlink", Path: name})
		}
	}
	require.EqualValues(t, slow, server.OK(harness.Command{Op: "stall waiting"}).Vals[0], "none of the slow writes has gone on")
	server.OK(harness.Command{Op: "stall ends"})
	for _, done := range writes {
		require.Empty(t, (<-done).Errno)
	}
	require.Equal(t, "soon", harness.ReadText(t, m.At("quick0")))
	require.Equal(t, "late", harness.ReadText(t, m.At("slow0")))
}
