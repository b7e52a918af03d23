package lockfiles

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Bind gives the book of tenures the backing file system (see [tenure.Book.Bind]).
func (p *Policy) Bind() error { return p.book.Bind((*files)(p)) }

// files is the backing file system as the book of tenures sees it.
type files Policy

// dirOf opens the directory of a path below the source.
func (l *files) dirOf(rel string) (int, error) {
	return l.tree.Open(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
}

// Look tells which file lies at a path below the source.
func (l *files) Look(rel string) (tenure.File, bool) {
	fd, err := l.dirOf(rel)
	if err != nil {
		return tenure.File{}, false
	}
	defer func() { _ = unix.Close(fd) }()
	return fileAt(fd, path.Base(rel))
}

// fileAt tells which file lies at a name; with an empty name it is that behind the descriptor.
func fileAt(dir int, name string) (tenure.File, bool) {
	var sx unix.Statx_t
	for {
		err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME|unix.STATX_MTIME, &sx)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return tenure.File{}, false
		}
	}
	file := tenure.File{Dev: unix.Mkdev(sx.Dev_major, sx.Dev_minor), Inode: sx.Ino, Mtime: sx.Mtime.Sec*1e9 + int64(sx.Mtime.Nsec)}
	if sx.Mask&unix.STATX_BTIME != 0 {
		file.Birth = sx.Btime.Sec*1e9 + int64(sx.Btime.Nsec)
	}
	return file, true
}

// Read reads a regular file.
func (l *files) Read(rel string, most int64) ([]byte, error) { return l.tree.Read(rel, most) }

// Remove removes a lock file if it is this very file. The book lets nobody else change its name meanwhile.
func (l *files) Remove(rel string, is tenure.File) error {
	dir, err := l.dirOf(rel)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	name := path.Base(rel)
	if now, there := fileAt(dir, name); !there || now.Dev != is.Dev || now.Inode != is.Inode || now.Birth != is.Birth {
		return nil // it has gone past the mount
	}
	pass, ok, _ := l.enforcement.Outside(false)
	if !ok {
		return unix.EROFS
	}
	defer pass.End()
	if l.enforcement.Quiesced() { // a snapshot must not see it go
		return unix.EBUSY
	}
	if err = unix.Unlinkat(dir, name, 0); errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	return err
}

// Forget makes the kernel ask again for a name.
func (l *files) Forget(rel string) {
	dir, err := l.dirOf(rel)
	if err != nil {
		return // the directory is gone, and the name with it
	}
	var st unix.Stat_t
	err = unix.Fstat(dir, &st)
	_ = unix.Close(dir)
	if err == nil {
		l.fs.Expire(tree.KeyOf(&st), path.Base(rel))
	}
}

// Prepare adds hooks to the guard of a lock, or of a window.
func (l *files) Prepare(g *gate.Guard) { l.fs.Prepare(g) }
