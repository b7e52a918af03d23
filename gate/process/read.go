package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrGone says that a process does not exist, or no longer.
var ErrGone = errors.New("no such process")

func procFile(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

func readProc(pid int, file string) ([]byte, error) {
	b, err := readSmall(procFile(pid, file))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return b, err
}

// readSmall is os.ReadFile with three system calls instead of ten. os.ReadFile also asks whether
// the file can be polled. A writer waits for some of these reads while a lease passes on.
func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			if b = b[:len(b)+n]; len(b) == cap(b) {
				b = slices.Grow(b, len(b))
			}
		}
	}
}
