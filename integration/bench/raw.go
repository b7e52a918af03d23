package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls that go past the Go scheduler. Its bookkeeping costs as much as a cached read, and would flatter every
// target beside native. The goroutine is locked to its thread and has no other one to wait for.

func rawOpen(path *byte, flags int) (int, error) {
	at := unix.AT_FDCWD
	fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(path)), uintptr(flags), 0o644, 0, 0)
	return int(fd), failed(e)
}

func rawClose(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func rawPread(fd int, p []byte, off int64) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(off), 0, 0)
	return int(n), failed(e)
}

func rawPwrite(fd int, p []byte, off int64) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(off), 0, 0)
	return int(n), failed(e)
}

func rawFsync(fd int) error {
	_, _, e := unix.RawSyscall(unix.SYS_FSYNC, uintptr(fd), 0, 0)
	return failed(e)
}

func rawStat(path *byte, st *unix.Stat_t) error {
	at := unix.AT_FDCWD
	_, _, e := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(at), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), 0, 0, 0)
	return failed(e)
}

func rawUnlink(path *byte) error {
	at := unix.AT_FDCWD
	_, _, e := unix.RawSyscall(unix.SYS_UNLINKAT, uintptr(at), uintptr(unsafe.Pointer(path)), 0)
	return failed(e)
}

func rawRename(from, to *byte) error {
	at := unix.AT_FDCWD
	_, _, e := unix.RawSyscall6(unix.SYS_RENAMEAT2, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)), 0, 0)
	return failed(e)
}

func failed(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
