package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// maxLinks is the kernel's bound on symbolic links in one walk (MAXSYMLINKS).
const maxLinks = 40

// absolute makes path absolute with getcwd(2). os.Getwd would stat the directory, which may be a dead mount.
// The path is not cleaned, because ".." after a symbolic link means another directory than the text says. No component of the working
// directory is a link, so that ".." in front is its parent.
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
	rest := split(path)
	for len(rest) > 0 && rest[0] == ".." {
		dir, rest = filepath.Dir(dir), rest[1:]
	}
	return dir + "/" + strings.Join(rest, "/"), nil
}

// WorkingDirectory is what getcwd(2) says, and no more.
func WorkingDirectory() (string, error) {
	dir, err := unix.Getwd()
	if errors.Is(err, unix.ENOENT) {
		return "", &api.Failure{Class: api.ClassUsage, Message: "the current directory has been removed or unmounted", Next: `cd to one that is there (cd "$PWD"), or give the whole path`, Err: err}
	}
	return dir, os.NewSyscallError("getcwd", err)
}

// linkPatience bounds the wait for a mount that is asked about a link.
const linkPatience = time.Second

// Resolve follows the symbolic links of path up to the first jvsfs mount that the walk enters, and returns the
// clean path with the mount that it lies on. The rest below a jvsfs mount is not resolved, because the mount
// may not answer; only where ".." comes after a name it is asked, for at most a second, whether that is a link. ".." of the mount's root
// leads out of it. No links are followed after a component that does not exist.
func Resolve(path string, mounts MountTable) (string, *mountinfo.Info, error) {
	path, err := absolute(path)
	if err != nil {
		return "", nil, err
	}
	w := walk{at: "/", rest: split(path), mounts: mounts}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return "", nil, &os.PathError{Op: "resolve", Path: path, Err: err}
		}
	}
	if w.in != nil {
		return w.at, w.in, nil
	}
	return w.at, mounts.At(w.at), nil
}

// walk is a path on its way.
type walk struct {
	at     string          // no link in it, but below in
	rest   []string        // what comes
	in     *mountinfo.Info // the jvsfs mount that was entered at root, or nil
	root   string
	links  int
	mounts MountTable
}

// step takes the next component.
func (w *walk) step() error {
	name := w.rest[0]
	if name == ".." {
		return w.up()
	}
	w.rest = w.rest[1:]
	next := filepath.Join(w.at, name)
	if w.in != nil {
		w.at = next
		return nil
	}
	if m := w.mounts.At(next); IsJVSFS(m) {
		w.at, w.in, w.root = next, m, next
		return nil
	}
	if target, err := os.Readlink(next); err == nil {
		return w.follow(target)
	}
	w.at = next // not a link, or it does not exist
	return nil
}

// up takes "..": the parent of what the last component leads to.
func (w *walk) up() error {
	if w.in != nil && w.at != w.root {
		switch target, err := linkOf(w.at); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("the mount at %s does not say whether %s is a link (give the path without ..): %w", w.root, w.at, err)
		case err == nil: // its name is exchanged for what it says, and ".." comes again
			w.at = filepath.Dir(w.at)
			return w.follow(target)
		}
	}
	if w.at == w.root {
		w.in, w.root = nil, ""
	}
	w.at, w.rest = filepath.Dir(w.at), w.rest[1:]
	return nil
}

// follow goes on with what a link in at says.
func (w *walk) follow(target string) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	if filepath.IsAbs(target) {
		w.at, w.in, w.root = "/", nil, ""
	}
	w.rest = append(split(target), w.rest...)
	return nil
}

// linkOf is readlink(2) that waits for linkPatience at most. What still waits then ends with the process, or when the mount answers.
func linkOf(path string) (string, error) {
	type answer struct {
		target string
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		target, err := os.Readlink(path)
		answered <- answer{target, err}
	}()
	select {
	case a := <-answered:
		return a.target, a.err
	case <-time.After(linkPatience):
		return "", os.ErrDeadlineExceeded
	}
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
