package fusefs

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The xattr calls of Linux 6.13 take a directory descriptor. That saves the walk to /proc/self/fd
// for each request. An older kernel gets the path.

// xattrArgs is struct xattr_args (linux/xattr.h).
type xattrArgs struct {
	value uint64 // a pointer
	size  uint32
	flags uint32
}

// hasXattrAt is found out by one call that must fail: with EINVAL if the call exists, otherwise
// with ENOSYS, or with what a filter of system calls says.
var hasXattrAt = sync.OnceValue(func() bool {
	_, _, errno := unix.Syscall6(unix.SYS_GETXATTRAT, ^uintptr(0), 0, 0, 0, 0, 0)
	return errno == unix.EINVAL
})

func (f *rawFS) getxattr(n *node, attr string, dest []byte) (int, error) {
	if !hasXattrAt() {
		return unix.Getxattr(n.path(), attr, dest)
	}
	return f.xattrAt(unix.SYS_GETXATTRAT, n, attr, dest, 0)
}

func (f *rawFS) setxattr(n *node, attr string, value []byte, flags int) error {
	if !hasXattrAt() {
		return unix.Setxattr(n.path(), attr, value, flags)
	}
	_, err := f.xattrAt(unix.SYS_SETXATTRAT, n, attr, value, uint32(flags))
	return err
}

func (f *rawFS) xattrAt(call uintptr, n *node, attr string, value []byte, flags uint32) (int, error) {
	if strings.ContainsRune(attr, 0) {
		return 0, unix.EINVAL
	}
	path, name := append([]byte(number(n.fd)), 0), append([]byte(attr), 0)
	args := xattrArgs{size: uint32(len(value)), flags: flags}
	var pin runtime.Pinner
	if len(value) > 0 {
		pin.Pin(&value[0]) // the kernel finds it through a number
		defer pin.Unpin()
		args.value = uint64(uintptr(unsafe.Pointer(&value[0])))
	}
	r, _, errno := unix.Syscall6(call, uintptr(f.procFD), uintptr(unsafe.Pointer(&path[0])), 0,
		uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
