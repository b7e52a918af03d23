package fusefs

import (
	"context"
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// lockedFiles is the backing file system as the book of tenures sees it.
type lockedFiles struct{ f *rawFS }

// Look tells which file lies at a path below the source.
func (l lockedFiles) Look(rel string) (tenure.File, bool) {
	fd, err := l.f.source.Open(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return tenure.File{}, false
	}
	defer func() { _ = unix.Close(fd) }()
	return fileAt(fd, path.Base(rel))
}

// fileAt tells which file lies at a name; with an empty name it is that behind the descriptor.
func fileAt(dir int, name string) (tenure.File, bool) {
	var sx unix.Statx_t
	err := retry(func() error {
		return unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME|unix.STATX_MTIME, &sx)
	})
	if err != nil {
		return tenure.File{}, false
	}
	file := tenure.File{Dev: unix.Mkdev(sx.Dev_major, sx.Dev_minor), Inode: sx.Ino, Mtime: sx.Mtime.Sec*1e9 + int64(sx.Mtime.Nsec)}
	if sx.Mask&unix.STATX_BTIME != 0 {
		file.Birth = sx.Btime.Sec*1e9 + int64(sx.Btime.Nsec)
	}
	return file, true
}

// Read reads a regular file.
func (l lockedFiles) Read(rel string, most int64) ([]byte, error) { return l.f.source.Read(rel, most) }

// Remove removes a lock file if it is this very file. The book lets nobody else change its name meanwhile.
func (l lockedFiles) Remove(rel string, is tenure.File) error {
	dir, err := l.f.source.Open(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	name := path.Base(rel)
	if now, there := fileAt(dir, name); !there || now.Dev != is.Dev || now.Inode != is.Inode || now.Birth != is.Birth {
		return nil // it has gone past the mount
	}
	pass, ok, _ := l.f.opts.Enforcement.Outside(false)
	if !ok {
		return unix.EROFS
	}
	defer pass.Leave()
	if l.f.opts.Enforcement.Quiesced() { // a snapshot must not see it go
		return unix.EBUSY
	}
	if err = unix.Unlinkat(dir, name, 0); errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	return err
}

// Forget makes the kernel ask again for a name.
func (l lockedFiles) Forget(rel string) {
	dir, err := l.f.source.Open(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return // the directory is gone, and the name with it
	}
	st, ok := statOf(dir)
	_ = unix.Close(dir)
	if !ok {
		return
	}
	if n := l.f.nodes.find(tree.KeyOf(&st)); n != nil {
		l.f.kernel.Expire(n.id, path.Base(rel))
	}
}

// Prepare adds hooks to the guard of a lock. What the kernel believes of names rests on the guards of the layout, so
// only pages are dropped.
func (l lockedFiles) Prepare(g *gate.Guard) {
	g.OnYield(l.f.flusher(g))
	g.OnClose(func(lease.Loss) {
		_ = l.f.dropPages(context.Background(), func(h *handle) bool { return h.restsOn(g) }) // without a deadline there is no error
	})
}
