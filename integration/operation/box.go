package operation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// errNoMapping says that a test named a mapping that was never made: a mistake of the test, and therefore not an
// errno.
var errNoMapping = errors.New("ENOMAPPING")

// Box is what somebody works with: a directory, the descriptors and mappings that are kept, and what the last
// operation returned.
type Box struct {
	dir  string
	fds  map[string]int
	lost []int // handles whose name was given to another
	maps map[string][]byte
	Vals []int64
	Data []byte
}

// NewBox is a box without anything open. Without a directory names are as they stand.
func NewBox(dir string) *Box {
	return &Box{dir: dir, fds: map[string]int{}, maps: map[string][]byte{}}
}

// At is a name in the box's directory; absolute names stay as they are.
func (b *Box) At(name string) string {
	if b.dir == "" || filepath.IsAbs(name) {
		return name
	}
	return b.dir + "/" + name
}

// FD is a kept descriptor, or -1, which every system call answers with EBADF:
// no refusal test can take that for EROFS.
func (b *Box) FD(handle string) int {
	if fd, found := b.fds[handle]; found {
		return fd
	}
	return -1
}

// keep remembers a descriptor that a call has returned; without a handle it is closed.
func (b *Box) keep(handle string, fd int, err error) error {
	if err != nil {
		return err
	}
	if handle == "" {
		return unix.Close(fd)
	}
	if old, found := b.fds[handle]; found {
		b.lost = append(b.lost, old)
	}
	b.fds[handle] = fd
	return nil
}

// With opens a file for the time of f.
func (b *Box) With(name string, flags int, mode uint32, f func(fd int) error) error {
	fd, err := unix.Open(b.At(name), flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	err = f(fd)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	return err
}

// count notes a return value.
func (b *Box) count(n int, err error) error {
	b.Vals = append(b.Vals, int64(n))
	return err
}

// filled notes how much of a buffer a call has filled, and that.
func (b *Box) filled(buf []byte, n int, err error) error {
	b.Data = buf[:min(max(n, 0), len(buf))]
	return b.count(n, err)
}

// mapping is a kept mapping.
func (b *Box) mapping(name string) ([]byte, error) {
	if m, found := b.maps[name]; found {
		return m, nil
	}
	return nil, errNoMapping
}

// Drop closes what the box still holds; errors are the kernel's echo of
// refused writes and of no interest here.
func (b *Box) Drop() {
	for _, m := range b.maps {
		_ = unix.Munmap(m)
	}
	for _, fd := range b.fds {
		_ = unix.Close(fd)
	}
	for _, fd := range b.lost {
		_ = unix.Close(fd)
	}
	*b = *NewBox(b.dir)
}

// listNames reads a directory; the sorted names go to data, one a line.
func (b *Box) listNames(dir string) error {
	return b.With(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0, func(fd int) error {
		other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(other), dir)
		defer f.Close() //nolint:errcheck // only read from
		names, err := f.Readdirnames(-1)
		slices.Sort(names)
		for _, name := range names {
			b.Data = fmt.Appendln(b.Data, name)
		}
		return err
	})
}

// readAll reads a descriptor to its end.
func readAll(fd int) ([]byte, error) {
	var all []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err != nil || n == 0 {
			return all, err
		}
		all = append(all, buf[:n]...)
	}
}
