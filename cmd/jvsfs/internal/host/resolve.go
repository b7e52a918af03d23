package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// maxLinks is the kernel's bound on symbolic links in one walk (MAXSYMLINKS).
const maxLinks = 40

// absolute makes path absolute with getcwd(2). os.Getwd would stat the directory, which may be a dead mount.
// The path is not cleaned, because ".." after a symbolic link means another directory than the text says.
func absolute(path string) (string, error) {
	if path == "" {
		return "", api.Usagef("the path is empty")
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := WorkingDirectory()
	if err != nil {
		return "", err
	}
	return dir + "/" + path, nil
}

// WorkingDirectory is what getcwd(2) says, and no more.
func WorkingDirectory() (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil {
		return "", fmt.Errorf("current directory: %w", err)
	}
	return strings.TrimRight(string(buf[:n]), "\x00"), nil
}

// Resolve follows the symbolic links of path up to the first jvsfs mount that the walk enters, and returns the
// clean path with the mount that it lies on. The rest below a jvsfs mount is not resolved, because the mount
// may not answer. No links are followed after a component that does not exist.
func Resolve(path string, mounts MountTable) (string, *mountinfo.Info, error) {
	path, err := absolute(path)
	if err != nil {
		return "", nil, err
	}
	at, rest, links := "/", split(path), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if m := mounts.At(next); IsJVSFS(m) {
			return filepath.Join(append([]string{next}, rest...)...), m, nil
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next // not a link, or it does not exist
			continue
		}
		if links++; links > maxLinks {
			return "", nil, &os.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(split(target), rest...)
	}
	return at, mounts.At(at), nil
}

// split cuts a path into its components, without empty ones and ".".
func split(path string) []string {
	var out []string
	for _, name := range strings.Split(path, "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}
