package fusefs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A file that is open for writing costs one descriptor and not two, if it was made by that open or if many are open. The first handle's
// descriptor replaces the inode's under the same number (dup3(2)). That is atomic for everybody who uses the number, and the inode is the
// same. When the handle is closed the inode gets its own descriptor again. Everything that an inode's descriptor is used for, the
// descriptor of an open file can do. Further handles of the file have their own descriptors.
type sharedFD struct {
	mu        sync.Mutex // held across system calls that a disk may block: it guards nothing else
	lent      bool       // the inode's descriptor belongs to a handle
	forgotten bool       // the kernel forgot the inode before RELEASE was handled
}

// lendFrom is how many handles have their own descriptors before the others lend theirs. Own ones
// are faster: to give the inode's back costs a fifth of an open and close.
const lendFrom = 64

// lendIfMany is lend if that many are open.
func (f *rawFS) lendIfMany(h *handle) {
	if f.handles.fds.Load() >= lendFrom {
		h.node.lend(h)
	}
}

// lend makes a handle's descriptor the inode's, too, if no other handle's is. If that fails the handle keeps its own.
func (n *node) lend(h *handle) {
	l := &n.sharedFD
	if !l.mu.TryLock() {
		return // a close is under way, and this handle can use its own
	}
	defer l.mu.Unlock()
	if l.lent || retry(func() error { return unix.Dup3(h.fd, n.fd, unix.O_CLOEXEC) }) != nil {
		return
	}
	_ = unix.Close(h.fd)
	h.fd, h.lent, l.lent = n.fd, true, true
}

// takeBack ends what lend has begun. After an error the inode keeps the descriptor of an open file,
// until the next handle's or the kernel's FORGET.
func (n *node) takeBack(procFD int) error {
	l := &n.sharedFD
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent = false
	if l.forgotten {
		return unix.Close(n.fd)
	}
	fd, err := pinAgain(procFD, n.fd)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return retry(func() error { return unix.Dup3(fd, n.fd, unix.O_CLOEXEC) })
}

// letGo closes the descriptor of an inode that the kernel has forgotten. The kernel sends RELEASE
// before FORGET, but another reader may handle RELEASE later.
func (n *node) letGo() {
	l := &n.sharedFD
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = true
	if !l.lent {
		_ = unix.Close(n.fd)
	}
}
