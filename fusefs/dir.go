package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// OpenDir opens a directory for reading.
func (f *rawFS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	f.stats.count(gate.OpOpenDir)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	if !f.room(&in.InHeader) {
		return fuse.Status(unix.ENFILE)
	}
	fd, err := f.source.Reopen(n.fd, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME)
	if err != nil {
		return status(err)
	}
	out.Fh = f.handles.add(&handle{node: n, fd: fd, quota: f.quotas.by(in.Uid), dir: &dirStream{fd: fd}})
	out.OpenFlags = f.dirFlags(n)
	return fuse.OK
}

// dirFlags lets the kernel keep a directory's listing while only this mount can change the
// directory: the kernel sees its own changes. A listing from before the end of a lease is dropped
// at the next open.
func (f *rawFS) dirFlags(n *node) uint32 {
	if f.watchedTTL(n) <= f.opts.CacheTimeout {
		n.listed.Store(0)
		return 0
	}
	if now := f.losses.Load() + 1; n.listed.Swap(now) == now {
		return fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	}
	return fuse.FOPEN_CACHE_DIR
}

// ReadDir reads entries from an offset. It is the backing directory's own offset, so telldir and
// seekdir mean the same as there.
func (f *rawFS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	f.stats.count(gate.OpReadDir)
	return f.readDir(in, func(_ *node, e fuse.DirEntry) bool { return out.AddDirEntry(e) })
}

// ReadDirPlus reads entries with their attributes. The kernel asks for it after somebody has asked
// for the attributes of entries (READDIRPLUS_AUTO).
func (f *rawFS) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	f.stats.count(gate.OpReadDirPlus)
	return f.readDir(in, func(dir *node, e fuse.DirEntry) bool {
		entry := out.AddDirLookupEntry(e)
		if entry == nil {
			return false
		}
		if e.Name != "." && e.Name != ".." && f.lookup(&in.InHeader, dir, e.Name, entry) == fuse.OK {
			out.FixMode(entry.Mode)
		}
		return true // an entry without a node id is looked up when it is used
	})
}

func (f *rawFS) readDir(in *fuse.ReadIn, add func(*node, fuse.DirEntry) bool) fuse.Status {
	h := f.handles.get(in.Fh)
	if h == nil || h.dir == nil {
		return fuse.EBADF
	}
	return status(h.dir.read(in.Offset, func(e fuse.DirEntry) bool { return add(h.node, e) }))
}

// ReleaseDir closes a directory.
func (f *rawFS) ReleaseDir(in *fuse.ReleaseIn) {
	f.stats.count(gate.OpReleaseDir)
	_ = f.handles.release(in.Fh) // nobody waits for the answer
}

// FsyncDir makes a directory durable. No lease is needed: its descriptor cannot write, and its
// entries were admitted when they were made.
func (f *rawFS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	f.stats.count(gate.OpFsyncDir)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	return syncFD(h.fd, in.FsyncFlags)
}
