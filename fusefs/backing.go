package fusefs

import (
	"errors"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func openBeneath(procFD, fd, flags int) (int, error) {
	return retryInt(func() (int, error) {
		return unix.Openat(procFD, number(fd), flags|unix.O_CLOEXEC, 0)
	})
}

// pinAgain gives the inode of an open file another descriptor that only pins it (O_PATH). Without
// OPEN_TREE_CLONE, open_tree(2) is that, by the descriptor alone, and needs no privilege
// (fs/namespace.c). Where a filter of system calls forbids it, as those of most containers do, the
// way through /proc is left.
func pinAgain(procFD, fd int) (int, error) {
	pin, err := retryInt(func() (int, error) { return unix.OpenTree(fd, "", unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH) })
	if err == nil {
		return pin, nil
	}
	return openBeneath(procFD, fd, unix.O_PATH)
}

// number is the name of a descriptor below procFD.
func number(fd int) string { return strconv.Itoa(fd) }

// path returns a path to the inode behind a descriptor, for calls that take no descriptor. The
// kernel follows it to this very inode, even to a symlink itself.
func (n *node) path() string { return "/proc/self/fd/" + strconv.Itoa(n.fd) }

// lookupAt opens one component without following it.
func lookupAt(dir *node, name string) (fd int, st unix.Stat_t, err error) {
	fd, err = retryInt(func() (int, error) {
		return openName(dir.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	})
	if err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// openName is unix.Openat without memory from the heap for the name.
func openName(dirfd int, name string, flags int) (int, error) {
	var path [unix.NAME_MAX + 1]byte // and so it ends with a NUL
	if len(name) >= len(path) || strings.IndexByte(name, 0) >= 0 {
		return unix.Openat(dirfd, name, flags, 0)
	}
	copy(path[:], name)
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dirfd), uintptr(unsafe.Pointer(&path[0])), uintptr(flags|unix.O_LARGEFILE), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func fstat(fd int, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstat(fd, st) })
}

// statOf returns the attributes of an open file, if it can.
func statOf(fd int) (st unix.Stat_t, ok bool) {
	ok = unix.Fstat(fd, &st) == nil
	return st, ok
}

// retryInt and retry repeat a call that a signal interrupted. On file systems with interruptible
// calls, Go's own preemption signals interrupt them.
func retryInt(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
