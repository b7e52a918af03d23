package transport

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneFile is a handler with one file, which counts flushes.
type oneFile struct {
	okFS
	flushes atomic.Int64
}

func newOneFile() *oneFile { return &oneFile{okFS: *newOKFS()} }

const theFile = 2

func (*oneFile) attr(node uint64, out *fuse.Attr) {
	if *out = (fuse.Attr{Ino: node, Mode: unix.S_IFREG | 0o600, Nlink: 1}); node == fuse.FUSE_ROOT_ID {
		out.Mode = unix.S_IFDIR | 0o700
	}
}

func (f *oneFile) Lookup(_ <-chan struct{}, _ *fuse.InHeader, _ string, out *fuse.EntryOut) fuse.Status {
	out.NodeId = theFile
	f.attr(theFile, &out.Attr)
	return fuse.OK
}

func (f *oneFile) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	f.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

func (*oneFile) Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (f *oneFile) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status {
	f.flushes.Add(1)
	return fuse.OK
}

func (*oneFile) Release(<-chan struct{}, *fuse.ReleaseIn) {}

// mountedHandler mounts a file system whose requests come to a handler, until the end of the test.
func mountedHandler(t *testing.T, h Handler) (dir string) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and /dev/fuse")
	}
	dir = t.TempDir()
	dev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Mount("test", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", dev)))
	tr := New(Config{Dev: dev, Handler: h, LastCPU: nowhere, WhenDying: dyingAbovePidMax, Meter: new(Meter), Log: zap.NewNop()})
	_, err = tr.Greet(WayDev, false)
	require.NoError(t, err)
	served := make(chan struct{})
	go func() { defer close(served); tr.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, unix.Unmount(dir, 0))
		<-served
		require.NoError(t, unix.Close(dev))
	})
	return dir
}
