package host

import (
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
