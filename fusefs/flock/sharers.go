package flock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// sharersMax bounds the walk to the topmost process that shares an open file.
const sharersMax = 64

// TopSharer is the topmost process that shares an open file of that name with a thread: it walks upwards as long as the parent shares one.
func TopSharer(tid uint32, name string) uint32 {
	at := int(tid)
	fds := filesCalled(at, name)
	for range sharersMax {
		st, err := process.ReadStat(at)
		if err != nil || st.PPID <= 1 {
			break
		}
		if !shareOpenFile(at, fds, st.PPID, filesCalled(st.PPID, name)) {
			break
		}
		at, fds = st.PPID, filesCalled(st.PPID, name)
	}
	return uint32(at)
}

// filesCalled are the descriptors of a process whose files have a name. It asks no file system, which may be this one.
func filesCalled(pid int, name string) (fds []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || filepath.Base(strings.TrimSuffix(target, " (deleted)")) != name {
			continue
		}
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// kcmpFile is KCMP_FILE: whether two descriptors are of one open file. Source: kcmp(2).
const kcmpFile = 0

func shareOpenFile(a int, ofA []int, b int, ofB []int) bool {
	for _, x := range ofA {
		for _, y := range ofB {
			r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpFile, uintptr(x), uintptr(y), 0)
			if errno == 0 && r == 0 {
				return true
			}
		}
	}
	return false
}
