package changes

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Entry is one name of a tree with what tells whether it changed.
type Entry struct {
	Path  string // below the root
	Mode  uint32 // with the type
	UID   uint32
	GID   uint32
	Inode uint64
	Size  uint64
	MTime int64 // in nanoseconds
	CTime int64
	BTime int64 // of birth, 0 where the file system does not tell
}

// IsDir reports whether it is a directory.
func (e Entry) IsDir() bool { return e.Mode&unix.S_IFMT == unix.S_IFDIR }

// walker walks the tree of one file system, in the order of comparePaths. It follows no symbolic link.
type walker struct {
	major, minor uint32
	visit        func(Entry) error
}

// walk visits everything below a directory. Repositories (.git, .jvs), linked checkouts of git and other file
// systems are left out: they have guards or owners of their own.
func walk(root int, visit func(Entry) error) error {
	_, st, err := look(root, "")
	if err != nil {
		return err
	}
	// The descriptor of the caller keeps its position.
	fd, err := unix.Openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: ".", Err: err}
	}
	w := walker{st.Dev_major, st.Dev_minor, visit}
	return w.directory(os.NewFile(uintptr(fd), "."), "")
}

func (w *walker) directory(dir *os.File, rel string) (err error) {
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	if rel != "" && slices.Contains(names, ".git") && isLinkedCheckout(dir) {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.entry(dir, rel, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(dir *os.File, rel, name string) error {
	e, st, err := look(int(dir.Fd()), name)
	if errors.Is(err, unix.ENOENT) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	if st.Dev_major != w.major || st.Dev_minor != w.minor || e.IsDir() && (name == ".git" || name == ".jvs") {
		return nil
	}
	e.Path = path.Join(rel, name)
	if err := w.visit(e); err != nil || !e.IsDir() {
		return err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // likewise
	case err != nil:
		return &os.PathError{Op: "open", Path: e.Path, Err: err}
	}
	return w.directory(os.NewFile(uintptr(fd), e.Path), e.Path)
}

// look is the entry of a name in a directory, or of the directory itself.
func look(dir int, name string) (Entry, unix.Statx_t, error) {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		return Entry{}, st, &os.PathError{Op: "statx", Path: name, Err: err}
	}
	e := Entry{Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid, Inode: st.Ino, Size: st.Size, MTime: nanoseconds(st.Mtime), CTime: nanoseconds(st.Ctime)}
	if st.Mask&unix.STATX_BTIME != 0 {
		e.BTime = nanoseconds(st.Btime)
	}
	return e, st, nil
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// isLinkedCheckout reports whether a directory is a worktree that git worktree add has made. A submodule, whose
// .git leads to modules, is none: it belongs to the checkout that it lies in.
func isLinkedCheckout(dir *os.File) bool {
	fd, err := unix.Openat(int(dir.Fd()), ".git", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), ".git")
	defer f.Close() //nolint:errcheck // only read from
	text := make([]byte, unix.PathMax)
	n, err := f.Read(text)
	if err != nil {
		return false
	}
	to, ok := strings.CutPrefix(string(text[:n]), "gitdir:")
	return ok && path.Base(path.Dir(strings.TrimSpace(to))) == "worktrees"
}

// comparePaths is the order of a walk: a directory, what is in it, then the next name.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' || b[i] != '/' && a[i] < b[i] {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}
