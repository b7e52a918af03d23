package lease

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Dir is a lock directory, by its descriptor: it stays the same directory if its path is renamed. Safe for concurrent use, but
// Close must come last.
type Dir struct {
	fd   int
	path string // for messages only
	tier tier
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// OpenDir opens the lock directory at path. It makes the directory if the parent exists. See [OpenDirAt].
func OpenDir(path string) (*Dir, error) { return OpenDirAt(unix.AT_FDCWD, path, path) }

// OpenDirAt opens the lock directory name below dirfd, which may be an O_PATH descriptor. It makes the directory if it is absent. Its
// mode becomes 0700: records hold nonces, which are secrets. A directory that is open to others and is not for records is refused
// instead. A symbolic link, or a file that is not a directory, is refused. Errors are [ClassStoreFailed].
func OpenDirAt(dirfd int, name, displayPath string) (*Dir, error) {
	d, err := openDir(dirfd, name, displayPath)
	if err != nil {
		return nil, err
	}
	if err := d.makePrivate(); err != nil {
		_ = unix.Close(d.fd)
		return nil, err
	}
	return d, nil
}

// OpenDirToLook is OpenDir for who takes no lease there: the mode of a directory that exists stays.
func OpenDirToLook(path string) (*Dir, error) { return OpenDirToLookAt(path, path) }

// OpenDirToLookAt is OpenDirToLook under another name for people.
func OpenDirToLookAt(path, displayPath string) (*Dir, error) {
	return openDir(unix.AT_FDCWD, path, displayPath)
}

func openDir(dirfd int, name, displayPath string) (*Dir, error) {
	if err := unix.Mkdirat(dirfd, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, dirFailed(displayPath, "the lock directory cannot be made", err)
	}
	fd, err := openat(dirfd, name, dirFlags, 0)
	if err != nil {
		return nil, dirFailed(displayPath, "the lock directory cannot be opened", err)
	}
	return &Dir{fd: fd, path: displayPath, tier: tierUnder(tierOf(fd))}, nil
}

func dirFailed(path, what string, err error) error {
	return &Error{Class: ClassStoreFailed, File: path, Message: what, Err: err,
		Next: "make sure that it is a directory of its own which this user may use"}
}

// Path is the display path.
func (d *Dir) Path() string { return d.path }

// FD is the Dir's own descriptor. The path may lead elsewhere by now.
func (d *Dir) FD() int { return d.fd }

// Close closes the descriptor. Stores of the directory are of no use afterwards.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// Store is the store of one worktree. It opens nothing. Every method refuses an id that is not as [record.ParseWorktreeID] makes it.
func (d *Dir) Store(id WorktreeID) *Store { return &Store{dir: d, id: id} }

// Worktrees lists the worktrees that have a view or a claim, sorted.
func (d *Dir) Worktrees() ([]WorktreeID, error) {
	names, err := d.names()
	if err != nil {
		return nil, &Error{Class: ClassStoreFailed, File: d.path, Message: "the lock directory cannot be listed", Err: err}
	}
	var ids []WorktreeID
	for _, name := range names {
		if n := record.ParseName(name); n.Kind == record.KindView || n.Kind == record.KindClaim {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// names lists the directory.
func (d *Dir) names() (names []string, err error) {
	err = d.each(func(name []byte) { names = append(names, string(name)) })
	return names, err
}

func (d *Dir) sync() error { return disk("dir.fsync", func() error { return unix.Fsync(d.fd) }) }

// retry repeats f while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openat(dirfd int, name string, flags int, mode uint32) (fd int, err error) {
	err = opening(flags, func() error {
		fd, err = unix.Openat(dirfd, name, flags, mode)
		return err
	})
	return fd, err
}
