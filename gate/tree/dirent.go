package tree

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Dirent is an entry of a directory.
type Dirent struct {
	Ino, Off uint64
	Kind     uint32 // S_IFMT bits; 0: the file system does not say
	Name     string
}

// Getdents is getdents64(2), again if a signal interrupted it.
func Getdents(fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Getdents(fd, buf); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// ParseDirent reads one struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name. If the bytes
// are not valid it returns length 0.
func ParseDirent(b []byte) (Dirent, int) {
	const header = 19
	if len(b) < header {
		return Dirent{}, 0
	}
	l := int(binary.NativeEndian.Uint16(b[16:]))
	if l < header || l > len(b) {
		return Dirent{}, 0
	}
	name, _, _ := strings.Cut(string(b[header:l]), "\x00")
	return Dirent{Ino: binary.NativeEndian.Uint64(b), Off: binary.NativeEndian.Uint64(b[8:]), Kind: uint32(b[18]) << 12, Name: name}, l
}

// Pin opens one component without following it (O_PATH).
func Pin(dir int, name string) (fd int, st unix.Stat_t, err error) {
	for {
		if fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}
