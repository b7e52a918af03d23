package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// OpenUpwards opens a directory and all directories above it, up to the root of its file system, the directory
// first. source is the directory as the caller opened it. Neither a bind mount nor a mount that covers one of
// them ends the way up. The descriptors keep no mount busy. With an error it returns those that it reached, at
// least the directory itself if it can be read.
func OpenUpwards(path string, source int) ([]*os.File, error) {
	mounts, err := ReadMounts()
	if err != nil {
		return openAlone(path, source, err)
	}
	m := mounts.At(path)
	if m == nil {
		return openAlone(path, source, fmt.Errorf("the mount that %s lies on is not known", path))
	}
	inside := inFileSystem(m, path)
	var errs []error
	for _, by := range waysTo(mounts, m, inside) {
		dirs, err := by.open(inside, source)
		if err == nil {
			return dirs, reachesTop(by.mount, inside)
		}
		errs = append(errs, err)
	}
	return openAlone(path, source, errors.Join(errs...))
}

// inFileSystem is a path inside the file system of its mount.
func inFileSystem(m *mountinfo.Info, path string) string {
	return filepath.Join(m.Root, RelativeTo(m.Mountpoint, path))
}

// errNotTop says that directories above may be served, and could not be checked.
var errNotTop = errors.New("no mount to be seen here shows the directories above")

// reachesTop reports whether a mount shows all directories of its file system above inside. A subvolume of
// btrfs counts as a file system: its root has the same number in each.
func reachesTop(m *mountinfo.Info, inside string) error {
	if m.Root == "/" || m.FSType == "btrfs" && !Within(inside, m.Root) {
		return nil
	}
	return fmt.Errorf("%s: %w %s of its file system", m.Mountpoint, errNotTop, m.Root)
}

// way is a mount that shows a directory, in this mount namespace or in another one.
type way struct {
	mount *mountinfo.Info
	root  string // of the processes of that namespace, "" for this one
}

// waysTo are the mounts of a file system that show inside. Those that show the most of the file system come
// first.
func waysTo(mounts MountTable, m *mountinfo.Info, inside string) []way {
	var out []way
	add := func(table MountTable, root string) {
		for _, c := range table {
			if DeviceOf(c) == DeviceOf(m) && Within(c.Root, inside) {
				out = append(out, way{c, root})
			}
		}
	}
	add(mounts, "")
	if !slices.ContainsFunc(out, func(w way) bool { return w.mount.Root == "/" }) {
		for _, ns := range ReadNamespaces("/proc") {
			if len(ns.PIDs) > 0 {
				add(ns.Table, fmt.Sprintf("/proc/%d/root", ns.PIDs[0]))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b way) int { return len(a.mount.Root) - len(b.mount.Root) })
	return out
}

// open goes down to inside through a private copy of the mount, in which no other mounts are.
func (w way) open(inside string, source int) ([]*os.File, error) {
	top, err := w.clone()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(top) }()
	dirs, err := descend(top, w.mount.Root, RelativeTo(w.mount.Root, inside))
	if err == nil {
		err = sameInode(int(dirs[0].Fd()), source)
	}
	if err != nil {
		closeAll(dirs)
		return nil, fmt.Errorf("%s: %w", inside, err)
	}
	return dirs, nil
}

// clone copies the mount. If a jvsfs mount covers it, that is unmounted first in a private mount namespace.
func (w way) clone() (int, error) {
	if w.root != "" {
		return cloneIn(w.root, w.mount.Mountpoint)
	}
	h, err := HoldMount(w.mount)
	if err == nil {
		defer h.Close()
		return cloneOf(h.FD())
	}
	fd := -1
	err = Underneath(w.mount.Mountpoint, func() error {
		dir, err := os.OpenFile(w.mount.Mountpoint, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer CloseFile(dir)
		fd, err = cloneOf(int(dir.Fd()))
		return err
	})
	return fd, err
}

// cloneIn copies a mount of another mount namespace, through a process in it.
func cloneIn(root, mountpoint string) (int, error) {
	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(at) }()
	fd, err := unix.Openat2(at, mountpoint, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fd) }()
	return cloneOf(fd)
}

func cloneOf(fd int) (int, error) {
	top, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	return top, os.NewSyscallError("open_tree", err)
}

// descend opens the directories on the way from top, which the mount shows, down to rel. The last one comes
// first.
func descend(top int, shown, rel string) ([]*os.File, error) {
	var dirs []*os.File
	at, names := top, append([]string{"."}, strings.FieldsFunc(rel, func(r rune) bool { return r == '/' })...)
	for _, name := range names {
		shown = filepath.Join(shown, name)
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(dirs)
			return nil, &os.PathError{Op: "open", Path: shown, Err: err}
		}
		dirs = append([]*os.File{os.NewFile(uintptr(fd), shown)}, dirs...)
		at = fd
	}
	return dirs, nil
}

// openAlone is used if the way up is unknown (err), or if the caller may not copy mounts. It opens the
// directories above by their paths, as far as they are on the same file system.
func openAlone(path string, source int, err error) ([]*os.File, error) {
	var dirs []*os.File
	for dir := path; ; dir = filepath.Dir(dir) {
		fd, oerr := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if oerr != nil {
			return dirs, errors.Join(err, &os.PathError{Op: "open", Path: dir, Err: oerr})
		}
		f := os.NewFile(uintptr(fd), dir)
		if len(dirs) == 0 && sameInode(fd, source) != nil || !sameFileSystem(fd, source) {
			CloseFile(f)
			return dirs, err
		}
		if dirs = append(dirs, f); dir == "/" {
			return dirs, err
		}
	}
}

var errNotSame = errors.New("the directory was replaced meanwhile")

func sameInode(a, b int) error {
	var x, y unix.Stat_t
	if err := errors.Join(unix.Fstat(a, &x), unix.Fstat(b, &y)); err != nil {
		return err
	}
	if x.Dev != y.Dev || x.Ino != y.Ino {
		return errNotSame
	}
	return nil
}

func sameFileSystem(a, b int) bool {
	var x, y unix.Stat_t
	return errors.Join(unix.Fstat(a, &x), unix.Fstat(b, &y)) == nil && x.Dev == y.Dev
}

func closeAll(files []*os.File) {
	for _, f := range files {
		CloseFile(f)
	}
}
