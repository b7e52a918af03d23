package learn

import (
	"context"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// node passes everything on to the directory itself, and notes what has changed. It guards nothing, so the loopback of
// the library will do: what it does not note here is not needed for a proposal.
type node struct {
	*fs.LoopbackNode
	notes *notes
}

// WrapChild lets the library make our nodes.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: ops.(*fs.LoopbackNode), notes: n.notes}
}

func (n *node) at(name string) string {
	return path.Join(n.EmbeddedInode().Path(n.EmbeddedInode().Root()), name)
}

func (n *node) note(ctx context.Context, e Event, errno syscall.Errno) syscall.Errno {
	if errno == 0 && !strings.HasPrefix(e.Path, ".go-fuse.") { // a file without a name is called so
		e.Who = caller(ctx)
		n.notes.add(e)
	}
	return errno
}

// caller waits for its answer, so it is still there to be asked for.
func caller(ctx context.Context) (w Who) {
	c, ok := fuse.FromContext(ctx)
	if !ok {
		return w
	}
	status, err := process.ReadStatus(int(c.Pid))
	if err != nil {
		return Who{PID: int(c.Pid)}
	}
	w.Name, _ = status.Field("Name")
	pid, _ := status.Field("Tgid")
	parent, _ := status.Field("PPid")
	w.PID, _ = strconv.Atoi(pid)
	w.Parent, _ = strconv.Atoi(parent)
	return w
}

// Create notes a new file.
func (n *node) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, fh, more, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	kind := Open
	if flags&unix.O_EXCL != 0 {
		kind = Create
	}
	return inode, fh, more, n.note(ctx, Event{Kind: kind, Path: n.at(name)}, errno)
}

// Open notes that a file is emptied.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, more, errno := n.LoopbackNode.Open(ctx, flags)
	if flags&unix.O_TRUNC != 0 {
		errno = n.note(ctx, Event{Kind: Change, Path: n.at("")}, errno)
	}
	return fh, more, errno
}

// Mknod notes a new file.
func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Mknod(ctx, name, mode, dev, out)
	return inode, n.note(ctx, Event{Kind: Create, Path: n.at(name)}, errno)
}

// Symlink notes a new link: it fails if the name is there, as O_EXCL does.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Symlink(ctx, target, name, out)
	return inode, n.note(ctx, Event{Kind: Create, Path: n.at(name)}, errno)
}

// Mkdir notes a new directory.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	return inode, n.note(ctx, Event{Kind: Mkdir, Path: n.at(name)}, errno)
}

// Link notes a second name.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	from := target.EmbeddedInode().Path(n.EmbeddedInode().Root())
	inode, errno := n.LoopbackNode.Link(ctx, target, name, out)
	return inode, n.note(ctx, Event{Kind: Link, Path: from, To: n.at(name)}, errno)
}

// Rename notes both names.
func (n *node) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, to string, flags uint32) syscall.Errno {
	e := Event{Kind: Rename, Path: n.at(name), To: path.Join(parent.EmbeddedInode().Path(n.EmbeddedInode().Root()), to)}
	return n.note(ctx, e, n.LoopbackNode.Rename(ctx, name, parent, to, flags))
}

// Unlink notes that a name has gone.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	return n.note(ctx, Event{Kind: Remove, Path: n.at(name)}, n.LoopbackNode.Unlink(ctx, name))
}

// Rmdir notes that a directory has gone.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	return n.note(ctx, Event{Kind: Remove, Path: n.at(name)}, n.LoopbackNode.Rmdir(ctx, name))
}

// Setattr notes a change.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.note(ctx, Event{Kind: Change, Path: n.at("")}, n.LoopbackNode.Setattr(ctx, f, in, out))
}

// Write notes a change.
func (n *node) Write(ctx context.Context, f fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	count, errno := f.(fs.FileWriter).Write(ctx, data, off)
	return count, n.note(ctx, Event{Kind: Change, Path: n.at("")}, errno)
}

// Setlk notes a lock.
func (n *node) Setlk(ctx context.Context, f fs.FileHandle, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	return n.locked(ctx, f, lk, flags, f.(fs.FileSetlker).Setlk(ctx, owner, lk, flags))
}

// Setlkw notes a lock that was waited for.
func (n *node) Setlkw(ctx context.Context, f fs.FileHandle, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	return n.locked(ctx, f, lk, flags, f.(fs.FileSetlkwer).Setlkw(ctx, owner, lk, flags))
}

func (n *node) locked(ctx context.Context, f fs.FileHandle, lk *fuse.FileLock, flags uint32, errno syscall.Errno) syscall.Errno {
	e := Event{Path: n.at("")}
	switch {
	case flags&fuse.FUSE_LK_FLOCK == 0 && lk.Typ == unix.F_UNLCK:
		return errno
	case flags&fuse.FUSE_LK_FLOCK == 0:
		e.Kind = Range
	case lk.Typ == unix.F_WRLCK:
		e.Kind, e.Handle = Flock, n.notes.handle(f)
	default:
		e.Kind, e.Handle = Unlock, n.notes.handle(f)
	}
	return n.note(ctx, e, errno)
}

// Release ends what the open file had locked.
func (n *node) Release(ctx context.Context, f fs.FileHandle) syscall.Errno {
	if h, had := n.notes.forget(f); had {
		n.notes.add(Event{Kind: Unlock, Path: n.at(""), Handle: h})
	}
	return f.(fs.FileReleaser).Release(ctx)
}

// handle is the number of an open file that is locked.
func (n *notes) handle(f fs.FileHandle) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.flocks[f] == 0 {
		n.last++
		n.flocks[f] = n.last
	}
	return n.flocks[f]
}

func (n *notes) forget(f fs.FileHandle) (h uint64, had bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h, had = n.flocks[f]
	delete(n.flocks, f)
	return h, had
}
