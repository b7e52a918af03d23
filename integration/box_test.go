package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"
)

// errNoHandle says that a row or a story named a handle that was never
// opened: a mistake of the test, and therefore not an errno.
var errNoHandle = errors.New("ENOHANDLE")

// box is what one row works with: its own directory, the descriptors and
// mappings that it keeps, and the return values that are compared with those
// of a plain directory.
type box struct {
	dir  string
	fds  map[string]int
	maps map[string][]byte
	vals []int64
	data []byte
}

func newBox(dir string) *box {
	return &box{dir: dir, fds: map[string]int{}, maps: map[string][]byte{}}
}

// at is a name in the box's directory; absolute names stay as they are.
func (b *box) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(b.dir, name)
}

// fd is a kept descriptor, or -1, which every system call answers with EBADF:
// no refusal test can take that for EROFS.
func (b *box) fd(handle string) int {
	if fd, found := b.fds[handle]; found {
		return fd
	}
	return -1
}

// keep opens a file and remembers the descriptor.
func (b *box) keep(handle, name string, flags int, mode uint32) error {
	fd, err := unix.Open(b.at(name), flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	b.fds[handle] = fd
	return nil
}

// with opens a file for the time of f.
func (b *box) with(name string, flags int, mode uint32, f func(fd int) error) error {
	fd, err := unix.Open(b.at(name), flags|unix.O_CLOEXEC, mode)
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
func (b *box) count(n int, err error) error {
	b.vals = append(b.vals, int64(n))
	return err
}

// mapShared maps the first n bytes of a kept descriptor, MAP_SHARED for
// reading and writing, and remembers the mapping under name.
func (b *box) mapShared(name, handle string, n int) error {
	m, err := unix.Mmap(b.fd(handle), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	b.maps[name] = m
	return nil
}

func (b *box) store(name string, data []byte) error { return b.storeAt(name, 0, data) }

func (b *box) storeAt(name string, off int64, data []byte) error {
	m, found := b.maps[name]
	if !found {
		return errNoHandle
	}
	copy(m[off:], data)
	return nil
}

func (b *box) unmap(name string) error {
	m, found := b.maps[name]
	if !found {
		return errNoHandle
	}
	delete(b.maps, name)
	return unix.Munmap(m)
}

// drop closes what the box still holds; errors are the kernel's echo of
// refused writes and of no interest here.
func (b *box) drop() {
	for name := range b.maps {
		_ = b.unmap(name)
	}
	for name, fd := range b.fds {
		_ = unix.Close(fd)
		delete(b.fds, name)
	}
}

// listNames reads a directory; the sorted names go to data, one a line.
func (b *box) listNames(dir string) error {
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
		b.data = fmt.Appendln(b.data, name)
	}
	return nil
}

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

// pipeWith makes a pipe that already holds data, for splice.
func pipeWith(data []byte, f func(r int) error) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := unix.Write(p[1], data); err != nil {
		return err
	}
	return f(p[0])
}
