package fusefs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tree"
)

// lender is an inode as Lookup leaves it, and a table for its handles.
type lender struct {
	t       *testing.T
	file    string
	node    *node
	handles handleTable
	share   userQuota
}

func newLender(t *testing.T) *lender {
	t.Helper()
	l := &lender{t: t, file: filepath.Join(t.TempDir(), "f")}
	require.NoError(t, os.WriteFile(l.file, []byte("x"), 0o600))
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(proc) })
	l.handles.procFD = proc
	fd, err := unix.Open(l.file, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &st))
	l.node = &node{key: tree.KeyOf(&st), fd: fd, kind: unix.S_IFREG, quota: &l.share}
	return l
}

func (l *lender) open(how int) *handle {
	fd, err := openBeneath(l.handles.procFD, l.node.fd, how)
	require.NoError(l.t, err)
	h := &handle{node: l.node, fd: fd, write: true, quota: &l.share}
	l.node.lend(h)
	l.handles.add(h)
	return h
}

// flags are those of the inode's descriptor.
func (l *lender) flags() int {
	flags, err := unix.FcntlInt(uintptr(l.node.fd), unix.F_GETFL, 0)
	require.NoError(l.t, err)
	return flags
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// The first handle has the inode's number, each further one its own number, and each its own mode.
func TestTheFirstHandleCostsNoDescriptor(t *testing.T) {
	l := newLender(t)
	before := descriptors(t)
	first := l.open(unix.O_WRONLY)
	require.Equal(t, l.node.fd, first.fd)
	require.Equal(t, before, descriptors(t))
	second := l.open(unix.O_RDWR)
	require.NotEqual(t, l.node.fd, second.fd)
	require.EqualValues(t, 1, l.handles.fds.Load())
	require.EqualValues(t, 1, l.share.open.Load())
	_, err := unix.Write(first.fd, []byte("by the first"))
	require.NoError(t, err)
	text := make([]byte, 5)
	_, err = unix.Pread(second.fd, text, 0)
	require.NoError(t, err)
	require.Equal(t, "by th", string(text))

	require.NoError(t, l.handles.release(first.id))
	require.NotZero(t, l.flags()&unix.O_PATH, "it is not open any more")
	_, err = unix.Pread(second.fd, text, 0)
	require.NoError(t, err)
	require.NoError(t, l.handles.release(second.id))
	require.Zero(t, l.handles.fds.Load())
	require.Zero(t, l.share.open.Load())
	require.Equal(t, before, descriptors(t))
	l.node.letGo()
	require.Equal(t, before-1, descriptors(t))
}

// A file whose name is gone gets its descriptor back, too.
func TestAnUnlinkedFileGetsItsDescriptorBack(t *testing.T) {
	l := newLender(t)
	h := l.open(unix.O_RDWR)
	require.NoError(t, os.Remove(l.file))
	require.NoError(t, l.handles.release(h.id))
	require.NotZero(t, l.flags()&unix.O_PATH)
	l.node.letGo()
}

// FORGET may be handled before the RELEASE that the kernel has sent before it.
func TestForgetMayOvertakeRelease(t *testing.T) {
	l := newLender(t)
	before := descriptors(t)
	h := l.open(unix.O_RDWR)
	l.node.letGo()
	require.Equal(t, before, descriptors(t), "the handle still has it")
	require.NoError(t, l.handles.release(h.id))
	require.Equal(t, before-1, descriptors(t))
}

// Whoever uses the inode's number meanwhile always finds the inode.
func TestTheInodesNumberAlwaysFindsTheInode(t *testing.T) {
	l := newLender(t)
	before := descriptors(t)
	stop := make(chan struct{})
	var users, openers sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				var st unix.Stat_t
				if err := unix.Fstat(l.node.fd, &st); err != nil || tree.KeyOf(&st) != l.node.key {
					t.Errorf("%v %v", err, tree.KeyOf(&st))
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		openers.Go(func() {
			for range 500 {
				h := l.open(unix.O_RDWR)
				if _, err := unix.Pwrite(h.fd, []byte("y"), 0); err != nil {
					t.Error(err)
				}
				if err := l.handles.release(h.id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	openers.Wait()
	close(stop)
	users.Wait()
	require.NotZero(t, l.flags()&unix.O_PATH)
	require.Equal(t, before, descriptors(t))
	l.node.letGo()
}

// What pins an inode is not open, and is of this very inode, which need not have a name any more.
func TestAPinIsOfTheVeryInode(t *testing.T) {
	l := newLender(t)
	t.Cleanup(func() { _ = unix.Close(l.node.fd) })
	require.NoError(t, os.Remove(l.file))
	h, err := openBeneath(l.handles.procFD, l.node.fd, unix.O_RDWR)
	require.NoError(t, err)
	before := descriptors(t)
	pin, err := pinAgain(l.handles.procFD, h)
	require.NoError(t, err)
	require.NoError(t, unix.Close(h))
	require.Equal(t, before, descriptors(t))
	flags, err := unix.FcntlInt(uintptr(pin), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.O_PATH)
	inherited, err := unix.FcntlInt(uintptr(pin), unix.F_GETFD, 0)
	require.NoError(t, err)
	require.Equal(t, unix.FD_CLOEXEC, inherited)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(pin, &st))
	require.Equal(t, l.node.key, tree.KeyOf(&st))
	require.NoError(t, unix.Close(pin))
}

func BenchmarkPinAgain(b *testing.B) {
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(b, err)
	fd, err := unix.Open(filepath.Join(b.TempDir(), "f"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	require.NoError(b, err)
	for name, again := range map[string]func() (int, error){
		"by descriptor": func() (int, error) { return pinAgain(proc, fd) },
		"by /proc":      func() (int, error) { return openBeneath(proc, fd, unix.O_PATH) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pin, err := again()
				if err != nil {
					b.Fatal(err)
				}
				_ = unix.Close(pin)
			}
		})
	}
	_ = unix.Close(fd)
	_ = unix.Close(proc)
}
