package transport

import (
	"encoding/binary"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Notifier sends notifications to the kernel. They must come from a goroutine that holds no lock and
// that no request waits for: the kernel may keep a directory locked until a request is answered.
type Notifier struct {
	Hello fuse.InitIn // what the kernel has said of itself
	Dev   int         // of /dev/fuse, -1 before the mount
}

// The codes of notifications. They are in the place of an errno (linux/fuse.h).
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
	notifyPrune      = 9
)

// tell sends a notification: a fuse_out_header without a request number, then the words, then a
// tail. If the kernel does not know the node, that is no error.
func (n *Notifier) tell(code uint32, words []uint64, tail string) error {
	if n.Dev < 0 {
		return unix.ENODEV
	}
	const header = 16
	b := make([]byte, header, header+8*len(words)+len(tail))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	b = append(b, tail...)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint32(b[4:], code)
	_, err := retryInt(func() (int, error) { return unix.Write(n.Dev, b) })
	return err
}

// DropPages tells the kernel to write back and drop an inode's pages and attributes. Dirty pages
// come back as WRITE requests, which the gate judges.
func (n *Notifier) DropPages(id uint64) { _ = n.tell(notifyInvalInode, []uint64{id, 0, 0}, "") }

// DropAttr tells the kernel to ask for an inode's attributes and ACLs again. A negative offset
// keeps the pages. It takes no lock in the kernel, so any goroutine may call it.
func (n *Notifier) DropAttr(id uint64) {
	_ = n.tell(notifyInvalInode, []uint64{id, ^uint64(0), 0}, "")
}

// CanExpire reports whether the kernel can be told to ask for a name again while it keeps the inode
// and its pages (protocol 7.38, Linux 6.2).
func (n *Notifier) CanExpire() bool { return n.Hello.Flags64()&fuse.CAP_HAS_EXPIRE_ONLY != 0 }

// Expire tells the kernel to ask for a name again before it uses it. Without the flag it would drop
// the entry and evict the inode with all its pages.
func (n *Notifier) Expire(dir uint64, name string) {
	_ = n.tell(notifyInvalEntry, []uint64{dir, pair(uint32(len(name)), fuse.EXPIRE_ONLY)}, name+"\x00")
}

// Prune asks the kernel to forget inodes (protocol 7.45, Linux 6.18). Inodes in use stay. ENOSYS if
// the kernel does not know the request.
func (n *Notifier) Prune(ids []uint64) error {
	if !n.Hello.SupportsNotify(fuse.NOTIFY_PRUNE) {
		return unix.ENOSYS
	}
	return n.tell(notifyPrune, append([]uint64{pair(uint32(len(ids)), 0), 0}, ids...), "")
}

// pair is two neighbouring 32-bit fields as one word.
func pair(first, second uint32) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[0:], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return binary.NativeEndian.Uint64(b[:])
}
