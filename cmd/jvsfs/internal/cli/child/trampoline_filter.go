package child

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A write that waits for the end of a window keeps its inode locked in the kernel. A command that reads the file then
// waits in two system calls that lock the inode, too, and that every program can do without: copy_file_range(2)
// (__fuse_copy_file_range in fs/fuse/file.c) and the search for holes, lseek(2) with SEEK_DATA and SEEK_HOLE
// (fuse_file_llseek). So they are answered as on a file system that has neither, and programs read and write.

// Offsets in struct seccomp_data, and the lower half of lseek's third argument on a little-endian machine.
const (
	dataNumber = 0
	dataArch   = 4
	dataWhence = 16 + 2*8
)

// filterArchs are the machines for which the filter is written.
var filterArchs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// copiesByReading installs the filter for this thread and what it becomes. A user other than root gives up to gain
// privileges by set-uid programs for that.
func copiesByReading() error {
	arch, known := filterArchs[runtime.GOARCH]
	if !known {
		return nil
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(dataArch), equal(arch, 0, 6), // another one: allow
		load(dataNumber), equal(unix.SYS_COPY_FILE_RANGE, 5, 0), equal(unix.SYS_LSEEK, 0, 3),
		load(dataWhence), equal(unix.SEEK_DATA, 3, 0), equal(unix.SEEK_HOLE, 2, 0),
		answer(unix.SECCOMP_RET_ALLOW),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)),
	}
	err := installFilter(filter)
	if errors.Is(err, unix.EACCES) {
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = installFilter(filter)
		}
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a kernel without filters: such a command waits
		return nil
	}
	return err
}

func installFilter(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}
