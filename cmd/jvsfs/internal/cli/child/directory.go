package child

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Beneath is the working directory's path if it lies in the bare tree beneath a mount, "" if
// not: whoever stood there when the mount was made still does, and writes past the fence.
func Beneath() (string, error) {
	dir, err := host.WorkingDirectory()
	if err != nil || dir[0] != '/' { // removed, or not to be reached from the root
		return "", nil //nolint:nilerr // it is no place that the mount could show
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", err
	}
	m := mounts.At(dir)
	if !host.IsJVSFS(m) || m.Source != m.Mountpoint {
		return "", nil // it shows another tree
	}
	var here unix.Statx_t
	// Who may not search the directory may stand in it all the same. The path "." asks for that right, the empty one does not.
	if err := unix.Statx(unix.AT_FDCWD, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &here); err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if (api.Device{Major: here.Dev_major, Minor: here.Dev_minor}) == host.DeviceOf(m) {
		return "", nil
	}
	return dir, nil
}

// reenter goes to a directory by its path, through what is mounted there now. It must be the
// one that the process stands in.
func reenter(dir string) error {
	var before, after unix.Stat_t
	if err := unix.Stat(".", &before); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Stat(".", &after); err != nil {
		return err
	}
	if before.Ino != after.Ino {
		return &os.PathError{Op: "chdir", Path: dir, Err: errOtherDirectory}
	}
	return os.Setenv("PWD", dir)
}

var errOtherDirectory = errors.New("the working directory lies beneath the mount, which shows another one there: cd to it first")
