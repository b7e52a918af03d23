package fusefs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A file that is open for writing costs one descriptor and not two, where it was made by that open or many are open: the first handle's
// takes the place of the inode's own, under its number (dup3(2), at once for everybody who
// uses the number: it is the same inode before and after), and the inode gets one of its
// own again when the handle is closed. Nothing is asked of an inode's descriptor that one
// of an open file could not do. Further handles of the file have descriptors of their own.
type lending struct {
	mu        sync.Mutex // across system calls that a disk may hold up: nothing else is guarded by it
	lent      bool       // the inode's descriptor is that of a handle
	forgotten bool       // the kernel has let go of the inode before RELEASE was handled
}

// lendFrom handles with descriptors of their own are quicker than thrifty: to give the
// inode's back costs a fifth of an open and close.
const lendFrom = 64

// lendIfMany is lend where that many are open.
func (f *rawFS) lendIfMany(h *handle) {
	if f.handles.fds.Load() >= lendFrom {
		h.node.lend(h)
	}
}

// lend makes a handle's descriptor the inode's as well, if no other's is. Where that fails
// the handle keeps its own.
func (n *node) lend(h *handle) {
	l := &n.lending
	if !l.mu.TryLock() {
		return // somebody's close takes its time, and this handle can do with its own
	}
	defer l.mu.Unlock()
	if l.lent || retry(func() error { return unix.Dup3(h.fd, n.fd, unix.O_CLOEXEC) }) != nil {
		return
	}
	_ = unix.Close(h.fd)
	h.fd, h.lent, l.lent = n.fd, true, true
}

// takeBack ends what lend has begun. After an error the inode's descriptor goes on being
// one of an open file, until the next handle's or the kernel's FORGET.
func (n *node) takeBack(procFD int) error {
	l := &n.lending
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent = false
	if l.forgotten {
		return unix.Close(n.fd)
	}
	fd, err := openBeneath(procFD, n.fd, unix.O_PATH)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return retry(func() error { return unix.Dup3(fd, n.fd, unix.O_CLOEXEC) })
}

// letGo closes the descriptor of an inode that the kernel has forgotten. The kernel sends
// RELEASE before FORGET, but another reader may be about to handle it.
func (n *node) letGo() {
	l := &n.lending
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = true
	if !l.lent {
		_ = unix.Close(n.fd)
	}
}
