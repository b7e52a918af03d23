package main

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close() // only descriptors of processes and pipes come here
	}
}

func openDirectory(dirfd int, name string) (int, error) {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
