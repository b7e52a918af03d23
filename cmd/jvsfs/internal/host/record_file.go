package host

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// recordFile is a file into which lines are copied through a mapping, without a system call: the file is the memory of the kernel
// and not of the process, so a kill leaves all that was copied. Its room is reserved when it is made. What follows the lines is
// zeros. It begins with a line that says whose it is.
type recordFile struct {
	file *os.File
	mem  []byte
	size int // of the lines
}

// The first line. Who puts another file in the place of one says so in it before, since its owner makes no system call to find out.
const (
	recordsOwned = "-\n"
	recordsTaken = "+\n"
)

// newRecordFile makes a file with room for so many bytes of lines. There must be none of the name.
func newRecordFile(path string, room int) (*recordFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	r := &recordFile{file: file}
	room += len(recordsOwned)
	if err := reserve(file, room); err != nil {
		return nil, errors.Join(fmt.Errorf("no room for the journal of locks: %w", &os.PathError{Op: "reserve", Path: path, Err: err}), file.Close(), os.Remove(path))
	}
	if r.mem, err = unix.Mmap(int(file.Fd()), 0, room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, errors.Join(&os.PathError{Op: "mmap", Path: path, Err: err}, file.Close(), os.Remove(path))
	}
	copy(r.mem, recordsOwned)
	r.size = len(recordsOwned)
	return r, nil
}

// reserve has the file system keep the room. Otherwise a full disk would end the process at a store (SIGBUS).
func reserve(file *os.File, room int) error {
	for {
		switch err := unix.Fallocate(int(file.Fd()), 0, 0, int64(room)); {
		case errors.Is(err, unix.EINTR): // by a signal of Go's own scheduler
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			_, err = file.WriteAt(make([]byte, room), 0)
			return err
		default:
			return err
		}
	}
}

// fits reports whether there is room for so many bytes.
func (r *recordFile) fits(n int) bool { return r.size+n <= len(r.mem) }

// add copies a line, which must fit.
func (r *recordFile) add(line []byte) error {
	err := r.touch(func() { copy(r.mem[r.size:], line) })
	if err == nil {
		r.size += len(line)
	}
	return err
}

// owned reports whether no other process has put a file of its own in the place.
func (r *recordFile) owned() (owned bool) {
	if r == nil {
		return false
	}
	err := r.touch(func() { owned = r.mem[0] == recordsOwned[0] })
	return err == nil && owned
}

// touch uses the mapping. Somebody may have cut the file, or its disk may fail.
func (r *recordFile) touch(use func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("journal of locks %s: %v", r.file.Name(), why)
		}
	}()
	use()
	return nil
}

// takeRecords tells the owner of a file that another one is about to be put in its place.
func takeRecords(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	defer CloseFile(file)
	first := make([]byte, len(recordsOwned))
	if n, _ := file.ReadAt(first, 0); n < len(first) || string(first) != recordsOwned {
		return nil // of a version before, which looks itself
	}
	_, err = file.WriteAt([]byte(recordsTaken), 0)
	return err
}

func (r *recordFile) close() error {
	return errors.Join(unix.Munmap(r.mem), r.file.Close())
}
