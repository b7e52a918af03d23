package fenceagent

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// KeepDescriptors has no program inherit what is open here. Go opens everything so, but whoever started this process may have left
// descriptors open: an agent, and what it leaves running, or a daemon would keep a lock, a pipe or a directory of somebody else for as
// long. What is passed on purpose (ExtraFiles) is, all the same.
func KeepDescriptors() {
	const first = 3 // after the standard ones
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	open, err := os.ReadDir("/proc/self/fd") // before Linux 5.11, or where a filter of system calls forbids it
	if err != nil {
		return
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
