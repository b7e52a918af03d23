// Package tree is the backing directory tree as those see it who judge changes: where an inode is now, and what lies at a path below the
// source. It asks the backing file system each time and remembers nothing.
//
// It promises that no path leads out of the source, and that no symbolic link and no other file system is entered on the way: users write
// what lies there. It does not promise that what it has found is still so when it returns: whoever needs that holds a lock meanwhile.
package tree

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// Key identifies an inode of the backing store. Hard links share one.
type Key struct{ Dev, Ino uint64 }

// KeyOf is the key of the inode that has these attributes.
func KeyOf(st *unix.Stat_t) Key { return Key{st.Dev, st.Ino} }

// Nlink is how many names an inode has.
func Nlink(st *unix.Stat_t) uint64 {
	return uint64(st.Nlink) //nolint:unconvert // 32 bits on other processors
}

// Inode is an inode that the kernel knows. It is used while the request lasts that names it.
type Inode interface {
	Key() Key
	FD() int // O_PATH, of this very inode
	IsDir() bool
	Role() layout.Role // of a directory
	// SeenRules adds the rules of the places where the kernel has met the inode, each once.
	SeenRules(to []*layout.Rule) []*layout.Rule
	// HasRule reports whether one of these is of a kind.
	HasRule(k layout.Kind) bool
	// Above is the one directory where the kernel has met the inode; nil: none, or several.
	Above() Inode
	// In reports whether one of the directories where the kernel has met the inode is such a one.
	In(such func(dir Inode) bool) bool
}

// Tree is a source. All methods may be called at the same time.
type Tree struct {
	root   int
	proc   int  // O_PATH of /proc/self/fd
	byUser bool // the source was not opened on a clone of its mount
}

// New returns the tree below root. The descriptors stay the caller's. proc is one of /proc/self/fd. byUser says that root was opened in
// the mount where it lies, and not in a clone of its own.
func New(root, proc int, byUser bool) *Tree { return &Tree{root: root, proc: proc, byUser: byUser} }

// gone is what d_path appends to a name that is deleted, and what anybody may end a name with.
const gone = " (deleted)"

// Place tells the name by which a descriptor was opened, as it is now (d_path): even if somebody has renamed a directory above it, through
// any mount. "/" is the source. false: it has lost that name, or it cannot be told.
func (t *Tree) Place(fd int) (string, bool) {
	place, ok := t.place(fd)
	if ok && strings.HasSuffix(place, gone) && !t.isAt(fd, Relative(place)) {
		return "", false
	}
	return place, ok
}

// isAt reports whether a path is one of an inode's names.
func (t *Tree) isAt(fd int, rel string) bool {
	at, err := t.Open(rel, unix.O_PATH)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(at) }()
	var is, there unix.Stat_t
	return unix.Fstat(fd, &is) == nil && unix.Fstat(at, &there) == nil && KeyOf(&is) == KeyOf(&there)
}

// TooLong reports whether the place of a descriptor cannot be told because its path is longer than 4,095 bytes.
func (t *Tree) TooLong(fd int) bool {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(t.proc, strconv.Itoa(fd), buf[:])
	return errors.Is(err, unix.ENAMETOOLONG) || err == nil && n == len(buf)
}

func (t *Tree) place(fd int) (string, bool) {
	path, ok := t.whole(fd)
	if !ok || !t.byUser {
		return path, ok
	}
	root, ok := t.whole(t.root)
	rest, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	if !ok || !below || rest != "" && rest[0] != '/' {
		return "", false // the source is just being moved
	}
	return cmp.Or(rest, "/"), true
}

// whole is the path in the mount that the source was opened on. That is a private clone, where the path ends at the source, unless a user
// has mounted.
func (t *Tree) whole(fd int) (string, bool) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(t.proc, strconv.Itoa(fd), buf[:])
	if err != nil || n == len(buf) {
		return "", false
	}
	path := string(buf[:n])
	return path, strings.HasPrefix(path, "/")
}

// Path is Place, relative to the source: "" is the source.
func (t *Tree) Path(fd int) (rel string, ok bool) {
	place, ok := t.Place(fd)
	return Relative(place), ok
}

// PathOf is the path below the source of a name in a directory.
func (t *Tree) PathOf(dir int, name string) (rel string, ok bool) {
	place, ok := t.Place(dir)
	return Relative(Join(place, name)), ok
}

// Join is the place of a name in the directory at a place.
func Join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// Relative makes a place relative to the source.
func Relative(place string) string { return strings.TrimPrefix(place, "/") }

// Open opens a path below the source. A FIFO stops nobody.
func (t *Tree) Open(rel string, flags int) (fd int, err error) {
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_NONBLOCK
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	rel = cmp.Or(rel, ".")
	for {
		if fd, err = unix.Openat2(t.root, rel, &how); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// Root is the descriptor of the source.
func (t *Tree) Root() int { return t.root }

// Reopen opens the inode behind a descriptor again, with other flags. It uses the descriptor and
// no name, so no rename or symlink can substitute another file.
func (t *Tree) Reopen(fd, flags int) (int, error) { return Reopen(t.proc, fd, flags) }

// Reopen is [Tree.Reopen], by a descriptor of /proc/self/fd.
func Reopen(proc, fd, flags int) (again int, err error) {
	for {
		if again, err = unix.Openat(proc, strconv.Itoa(fd), flags|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EINTR) {
			return again, err
		}
	}
}

// Stat has the attributes of what lies at a name in a directory, and not of what a symbolic link leads to. false: nothing that can be looked
// at.
func Stat(dir int, name string) (st unix.Stat_t, ok bool) {
	ok = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	return st, ok
}

// IsDirAt reports whether a directory has a name in another one.
func IsDirAt(dir int, name string) bool {
	st, ok := Stat(dir, name)
	return ok && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Exists reports whether something lies at a path that can be looked at.
func (t *Tree) Exists(rel string) bool { return t.Look(rel) == nil }

// Look is nil if something lies at a path, and otherwise says why it cannot be looked at.
func (t *Tree) Look(rel string) error {
	fd, err := t.Open(rel, unix.O_PATH)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// Read reads a regular file, if it is not larger than most bytes; otherwise the error is EFBIG.
func (t *Tree) Read(rel string, most int64) ([]byte, error) {
	fd, err := t.Open(rel, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), rel)
	defer file.Close() //nolint:errcheck // only read from
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, unix.EFBIG
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// Names calls each for the names in a directory, in no order, until that returns false.
func (t *Tree) Names(dir string, each func(name string) bool) error {
	fd, err := t.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close() //nolint:errcheck // only read from
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if !each(name) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
