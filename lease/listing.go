package lease

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listBuffers are for getdents(2): one holds some 500 claims.
var listBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// each calls f for every name of the directory, in no order. It has a descriptor of its own, for the offset of d.fd is shared. It
// copies no name, for there may be many claims and a writer may be waiting. f must not keep the name.
func (d *Dir) each(f func(name []byte)) error {
	fd, err := openat(d.fd, ".", dirFlags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	return listing(func() error {
		buf := listBuffers.Get().(*[32 << 10]byte)
		defer listBuffers.Put(buf)
		for {
			n, err := unix.Getdents(fd, buf[:])
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 || err != nil {
				return err
			}
			entries(buf[:n], f)
		}
	})
}

// The offsets in an entry. Source: getdents64(2), struct linux_dirent64.
const (
	entryLength = unsafe.Offsetof(unix.Dirent{}.Reclen)
	entryName   = unsafe.Offsetof(unix.Dirent{}.Name)
)

// entries calls f for every name in the bytes that getdents returned.
func entries(buf []byte, f func(name []byte)) {
	for len(buf) > int(entryName) {
		n := int(binary.NativeEndian.Uint16(buf[entryLength:]))
		if n <= int(entryName) || n > len(buf) {
			return
		}
		name := buf[entryName:n]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if s := string(name); s != "." && s != ".." { // compared, not copied
			f(name)
		}
		buf = buf[n:]
	}
}
