package fusefs

import (
	"encoding/binary"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// kernel is the way to tell the kernel something that it has not asked for.
// Notifications must come from a goroutine that holds no lock and that no request
// waits for: the kernel may hold a directory locked until a request is answered.
type kernel struct {
	server *fuse.Server
	dev    int // of /dev/fuse, our own descriptor
}

// dropPages tells the kernel to write back and drop an inode's pages and
// attributes. Dirty pages come back as WRITE requests, which the gate judges.
func (k *kernel) dropPages(id uint64) {
	if k.server != nil {
		k.server.InodeNotify(id, 0, 0)
	}
}

// dropAttr tells the kernel to ask for an inode's attributes and ACLs again. It takes
// no lock in the kernel, so any goroutine may call it.
func (k *kernel) dropAttr(id uint64) {
	if k.server != nil {
		k.server.InodeNotify(id, -1, 0)
	}
}

// canExpire reports whether the kernel can be told to ask for a name again while
// keeping the inode and its pages (protocol 7.38, Linux 6.2).
func (k *kernel) canExpire() bool {
	return k.server != nil && k.server.KernelSettings().Flags64()&fuse.CAP_HAS_EXPIRE_ONLY != 0
}

// expire tells the kernel to ask for a name again before it believes it. Layout:
// fuse_out_header, fuse_notify_inval_entry_out, name and a zero byte. go-fuse can only
// drop an entry, which evicts the inode with all its pages.
func (k *kernel) expire(dir uint64, name string) {
	const header, fixed = 16, 16
	b := make([]byte, header+fixed, header+fixed+len(name)+1)
	b = append(append(b, name...), 0)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint32(b[4:], notifyInvalEntry)
	binary.NativeEndian.PutUint64(b[header:], dir)
	binary.NativeEndian.PutUint32(b[header+8:], uint32(len(name)))
	binary.NativeEndian.PutUint32(b[header+12:], fuse.EXPIRE_ONLY)
	_, _ = retryInt(func() (int, error) { return unix.Write(k.dev, b) }) // ENOENT: it is not cached
}

// notifyInvalEntry is FUSE_NOTIFY_INVAL_ENTRY, in the place of an errno.
const notifyInvalEntry = 3
