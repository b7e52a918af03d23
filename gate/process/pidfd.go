package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenPidfd opens a descriptor of a process, which pins its identity: while the descriptor says that the
// process lives, its pid means this process.
func OpenPidfd(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, &os.SyscallError{Syscall: "pidfd_open", Err: err}
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// PidfdAlive reports whether the process has not ended (a zombie has).
func PidfdAlive(f *os.File) bool {
	p := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 0
	}
}

// PIDOfPidfd is the number of the process in this pid namespace, from /proc/self/fdinfo. It fails if the
// process has ended or is not visible here.
func PIDOfPidfd(f *os.File) (int, error) {
	info, err := ReadDescriptor("self", strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, err
	}
	value, ok := info.Field("Pid")
	if !ok {
		return 0, fmt.Errorf("the descriptor is not one of a process")
	}
	pid, err := strconv.Atoi(value)
	if err == nil && pid <= 0 {
		err = fmt.Errorf("the process has ended or runs in a pid namespace that cannot be seen from here")
	}
	return pid, err
}
