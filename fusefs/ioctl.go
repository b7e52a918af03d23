package fusefs

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// The ioctls that pass: inode flags and project ids. All others are ENOTTY, because a forwarded
// ioctl would run with the daemon's privileges. Source: ioctl_iflags(2), linux/fs.h.
const (
	iocGetFlags  = unix.FS_IOC_GETFLAGS
	iocSetFlags  = unix.FS_IOC_SETFLAGS
	iocGetXFlags = 0x801c581f // FS_IOC_FSGETXATTR
	iocSetXFlags = 0x401c5820 // FS_IOC_FSSETXATTR
)

// ioctlSize returns the size of the argument in bytes. The kernel passes the flags as an int,
// although the number of FS_IOC_SETFLAGS says otherwise.
func ioctlSize(cmd uint32) (size int, set, ok bool) {
	switch cmd {
	case iocGetFlags:
		return 4, false, true
	case iocSetFlags:
		return 4, true, true
	case iocGetXFlags:
		return 28, false, true
	case iocSetXFlags:
		return 28, true, true
	}
	return 0, false, false
}

// Ioctl gets and sets inode flags. The kernel has checked who may set them.
func (f *rawFS) Ioctl(cancel <-chan struct{}, in *fuse.IoctlIn, inbuf []byte, out *fuse.IoctlOut, outbuf []byte) (st fuse.Status) {
	f.stats.count(gate.OpIoctl)
	size, set, ok := ioctlSize(in.Cmd)
	if !ok || in.Flags&fuse.IOCTL_UNRESTRICTED != 0 {
		return fuse.Status(unix.ENOTTY)
	}
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	if set {
		var p permit
		if p, st = f.admitNode(cancel, gate.OpIoctl, &in.InHeader, n); st != fuse.OK {
			return st
		}
		defer p.leave(&st)
	}
	arg := make([]byte, max(size, 8))
	copy(arg[:size], inbuf)
	call := func() error { return f.ioctl(n, in.Cmd, arg) }
	if set {
		get := call
		call = func() error { return standIn(&in.InHeader).as(get) } // a project id moves blocks from one quota to another
	}
	if err := call(); err != nil {
		return status(err)
	}
	if set {
		f.kernel.DropAttr(n.id) // otherwise the kernel keeps the old change time
	} else {
		copy(outbuf, arg[:size])
	}
	out.Result = 0
	return fuse.OK
}

// ioctl uses its own descriptor, whatever handle the request names.
func (f *rawFS) ioctl(n *node, cmd uint32, arg []byte) error {
	if n.kind != unix.S_IFREG && n.kind != unix.S_IFDIR {
		return unix.ENOTTY
	}
	fd, err := f.source.Reopen(n.fd, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOATIME)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(cmd), uintptr(unsafe.Pointer(&arg[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
