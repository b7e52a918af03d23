package fence

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// ioctl numbers that the unix package lacks, linux/fs.h.
const (
	fsIocFSGetXattr = 0x801c581f
	fsIocFSSetXattr = 0x401c5820
	fsNoDumpFlag    = 0x40 // FS_NODUMP_FL
	fsXNoDumpFlag   = 0x80 // FS_XFLAG_NODUMP
)

// fsxattr is struct fsxattr of linux/fs.h.
type fsxattr struct {
	xflags, extsize, nextents, projid, cowextsize uint32
	_                                             [8]byte
}

// flagRows set inode flags by ioctl, on descriptors that are open for reading
// only: no open call sees them coming.
func flagRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "FS_IOC_SETFLAGS", prepare: file, run: flagged("f", setNoDump)},
		{name: "FS_IOC_SETFLAGS on a directory", prepare: harness.WithDir("d"), run: flagged("d", setNoDump)},
		{name: "FS_IOC_FSSETXATTR", prepare: file, run: flagged("f", setNoDumpX)},
		{name: "handle FS_IOC_SETFLAGS", prepare: file, open: keepFile(unix.O_RDWR), run: func(b *harness.Box) error {
			return setNoDump(b.FD("f"))
		}},
		{name: "handle FS_IOC_FSSETXATTR", prepare: file, open: keepFile(unix.O_RDWR), run: func(b *harness.Box) error {
			return setNoDumpX(b.FD("f"))
		}},
	}
}

func flagged(name string, set func(fd int) error) func(*harness.Box) error {
	return func(b *harness.Box) error { return b.With(name, unix.O_RDONLY, 0, set) }
}

func setNoDump(fd int) error {
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags|fsNoDumpFlag))
}

func setNoDumpX(fd int) error {
	var x fsxattr
	if err := fsxIoctl(fd, fsIocFSGetXattr, &x); err != nil {
		return err
	}
	x.xflags |= fsXNoDumpFlag
	return fsxIoctl(fd, fsIocFSSetXattr, &x)
}

func fsxIoctl(fd int, req uintptr, x *fsxattr) error {
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(unsafe.Pointer(x))); no != 0 {
		return no
	}
	return nil
}
