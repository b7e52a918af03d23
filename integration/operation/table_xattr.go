package operation

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of inodes, and ioctl numbers that the unix package lacks: linux/fs.h.
const (
	flagImmutable   = 0x10 // FS_IMMUTABLE_FL
	flagAppend      = 0x20 // FS_APPEND_FL
	flagNoDump      = 0x40 // FS_NODUMP_FL
	flagXNoDump     = 0x80 // FS_XFLAG_NODUMP
	fsIocFSGetXattr = 0x801c581f
	fsIocFSSetXattr = 0x401c5820
)

// These change and read extended attributes, ACLs, and the flags of inodes.
func init() {
	add(map[string]operation{
		"setxattr":  {"path name value xattr=0", setxattr},
		"lsetxattr": {"path name value xattr=0", func(b *Box, c Command) error { return unix.Lsetxattr(b.At(c.Path), c.Name, c.Data, c.Flags) }},
		"fsetxattr": {"handle name value xattr=0", func(b *Box, c Command) error { return unix.Fsetxattr(b.FD(c.Handle), c.Name, c.Data, c.Flags) }},
		"getxattr": {"path name len=65536", func(b *Box, c Command) error {
			buf := make([]byte, c.Len)
			n, err := unix.Getxattr(b.At(c.Path), c.Name, buf)
			return b.filled(buf, n, err)
		}},
		"listxattr": {"path len=65536", func(b *Box, c Command) error {
			buf := make([]byte, c.Len)
			n, err := unix.Listxattr(b.At(c.Path), buf)
			return b.filled(buf, n, err)
		}},
		"removexattr":  {"path name", removexattr},
		"lremovexattr": {"path name", func(b *Box, c Command) error { return unix.Lremovexattr(b.At(c.Path), c.Name) }},
		"fremovexattr": {"handle name", func(b *Box, c Command) error { return unix.Fremovexattr(b.FD(c.Handle), c.Name) }},
		"setacl":       {"path aclof acl", setxattr},
		"rmacl":        {"path aclof", removexattr},
		"chattr": {"path inode", func(b *Box, c Command) error {
			return b.With(c.Path, unix.O_RDONLY|unix.O_NONBLOCK, 0, func(fd int) error { return setFlags(fd, c.Flags) })
		}},
		"fchattr": {"handle inode", func(b *Box, c Command) error { return setFlags(b.FD(c.Handle), c.Flags) }},
		"lsattr": {"path", func(b *Box, c Command) error {
			return b.With(c.Path, unix.O_RDONLY|unix.O_NONBLOCK, 0, func(fd int) error {
				flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
				return b.count(int(flags&(flagAppend|flagImmutable|flagNoDump)), err)
			})
		}},
		"fssetxattr": {"handle", func(b *Box, c Command) error { return setNoDumpX(b.FD(c.Handle)) }},
	})
}

func setxattr(b *Box, c Command) error { return unix.Setxattr(b.At(c.Path), c.Name, c.Data, c.Flags) }

func removexattr(b *Box, c Command) error { return unix.Removexattr(b.At(c.Path), c.Name) }

// setFlags sets those of the flags that a command can name, and leaves the others.
func setFlags(fd, flags int) error {
	old, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|int(old&^(flagAppend|flagImmutable|flagNoDump)))
}

// fsxattr is struct fsxattr of linux/fs.h.
type fsxattr struct {
	xflags, extsize, nextents, projid, cowextsize uint32
	_                                             [8]byte
}

// setNoDumpX sets the flag by the ioctl that XFS had first.
func setNoDumpX(fd int) error {
	var x fsxattr
	if err := fsxIoctl(fd, fsIocFSGetXattr, &x); err != nil {
		return err
	}
	x.xflags |= flagXNoDump
	return fsxIoctl(fd, fsIocFSSetXattr, &x)
}

func fsxIoctl(fd int, req uintptr, x *fsxattr) error {
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(unsafe.Pointer(x))); no != 0 {
		return no
	}
	return nil
}
