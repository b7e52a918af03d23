package host

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// CloseFile closes a file that has nothing to flush. It accepts nil.
func CloseFile(f *os.File) {
	if f != nil {
		_ = f.Close() // only descriptors of processes and pipes come here
	}
}

// OpenRegular opens a file to be read that others may have put there: a FIFO must not make root wait, a symbolic link leads nowhere, and
// a device is none.
func OpenRegular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is no regular file")
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// TextUpTo is the beginning of such a file, which must not fill the memory; "" if it cannot be read.
func TextUpTo(path string, most int64) string {
	f, err := OpenRegular(path)
	if err != nil {
		return ""
	}
	defer CloseFile(f)
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}

// isStillAt reports whether an open file still has its name.
func isStillAt(f *os.File, path string) bool {
	var own, there unix.Stat_t
	return unix.Fstat(int(f.Fd()), &own) == nil && unix.Lstat(path, &there) == nil && own.Ino == there.Ino && own.Dev == there.Dev
}

// OpenDirectory opens a directory below dirfd, through no symbolic link at the end.
func OpenDirectory(dirfd int, name string) (int, error) {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// EscapeGlob is the pattern that matches only s.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
