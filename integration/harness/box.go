package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"
)

// ErrNoHandle says that a row or a story named a handle that was never
// opened: a mistake of the test, and therefore not an errno.
var ErrNoHandle = errors.New("ENOHANDLE")

// Box is what one row works with: its own directory, the descriptors and
// mappings that it keeps, and the return values that are compared with those
// of a plain directory.
type Box struct {
	dir  string
	fds  map[string]int
	Maps map[string][]byte
	Vals []int64
	Data []byte
}

// NewBox is a box without anything open.
func NewBox(dir string) *Box {
	return &Box{dir: dir, fds: map[string]int{}, Maps: map[string][]byte{}}
}

// At is a name in the box's directory; absolute names stay as they are.
func (b *Box) At(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(b.dir, name)
}

// FD is a kept descriptor, or -1, which every system call answers with EBADF:
// no refusal test can take that for EROFS.
func (b *Box) FD(handle string) int {
	if fd, found := b.fds[handle]; found {
		return fd
	}
	return -1
}

// Keep opens a file and remembers the descriptor.
func (b *Box) Keep(handle, name string, flags int, mode uint32) error {
	fd, err := unix.Open(b.At(name), flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
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

// Count notes a return value.
func (b *Box) Count(n int, err error) error {
	b.Vals = append(b.Vals, int64(n))
	return err
}

// MapShared maps the first n bytes of a kept descriptor, MAP_SHARED for
// reading and writing, and remembers the mapping under name.
func (b *Box) MapShared(name, handle string, n int) error {
	m, err := unix.Mmap(b.FD(handle), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	b.Maps[name] = m
	return nil
}

// Store writes into a mapping, at its start.
func (b *Box) Store(name string, data []byte) error { return b.storeAt(name, 0, data) }

func (b *Box) storeAt(name string, off int64, data []byte) error {
	m, found := b.Maps[name]
	if !found {
		return ErrNoHandle
	}
	copy(m[off:], data)
	return nil
}

// Unmap removes a mapping.
func (b *Box) Unmap(name string) error {
	m, found := b.Maps[name]
	if !found {
		return ErrNoHandle
	}
	delete(b.Maps, name)
	return unix.Munmap(m)
}

// Drop closes what the box still holds; errors are the kernel's echo of
// refused writes and of no interest here.
func (b *Box) Drop() {
	for name := range b.Maps {
		_ = b.Unmap(name)
	}
	for name, fd := range b.fds {
		_ = unix.Close(fd)
		delete(b.fds, name)
	}
}

// ListNames reads a directory; the sorted names go to data, one a line.
func (b *Box) ListNames(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	sort.Strings(names)
	for _, name := range names {
		b.Data = fmt.Appendln(b.Data, name)
	}
	return nil
}

// ReadAll reads a descriptor to its end.
func ReadAll(fd int) ([]byte, error) {
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
