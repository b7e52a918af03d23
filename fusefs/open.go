package fusefs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// backingFlags are the flags of an open that the backing descriptor has, too. O_APPEND is not one:
// fcntl can change it, and a store through a mapping has its place in any case; each write says
// whether it appends. O_DIRECT is not one: it would need aligned buffers. On a store that other
// kernels write, every write is durable before it is answered: only then can it be judged as late.
func (f *rawFS) backingFlags(flags uint32) int {
	keep := int(flags) & (unix.O_ACCMODE | unix.O_DSYNC | unix.O_SYNC)
	if writes(flags) {
		keep |= f.syncFlag()
	}
	return keep | unix.O_NOATIME
}

func writes(flags uint32) bool { return flags&unix.O_ACCMODE != unix.O_RDONLY }

// Open opens a file. Only an open for writing is a mutation: a truncation comes as a SETATTR of its
// own.
func (f *rawFS) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) (st fuse.Status) {
	f.stats.count(gate.OpOpen)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	h := handle{node: n, quota: f.quotas.by(in.Uid), opener: openerOf(&in.InHeader)}
	if writes(in.Flags) || in.Flags&unix.O_TRUNC != 0 {
		var p permit
		if p, st = f.admitNodeIf(cancel, gate.OpOpen, &in.InHeader, n, mayOpen(n, in.Flags)); st != fuse.OK {
			return st
		}
		defer p.abandon() // an open changes nothing, so it cannot be late
		if f.git.AddOnly(n) {
			if st = f.refuseUnlessObserving(gate.Refusal{Reason: gate.ReasonAddOnly, Op: gate.OpOpen, Caller: callerID(&in.InHeader)}); st != fuse.OK {
				return st
			}
		}
		if !f.mayOpen(n, in.Flags) {
			return f.refuseRule(gate.OpOpen, callerID(&in.InHeader), layout.Sealed)
		}
		h.claims, h.against, h.ofBranch, h.grows = p.claims(), p.against, f.git != nil && n.isBranch(), f.rules.Growing(n)
	}
	flags := f.backingFlags(in.Flags) | unix.O_NONBLOCK
	if flags == unix.O_RDONLY|unix.O_NOATIME|unix.O_NONBLOCK && in.Flags&unix.O_TRUNC == 0 {
		r, err := f.openToRead(n, &in.InHeader, flags)
		if err != nil {
			return status(err)
		}
		h.fd, h.along = r.fd, r
		f.openHandle(&h, in.Flags, out)
		return fuse.OK
	}
	if !f.room(&in.InHeader) {
		return fuse.Status(unix.ENFILE)
	}
	fd, err := f.source.Reopen(n.fd, flags)
	if errors.Is(err, unix.EPERM) && in.Flags&unix.O_APPEND != 0 { // chattr +a
		fd, err = f.source.Reopen(n.fd, flags|unix.O_APPEND)
		h.appendOnly = true
	}
	if err != nil {
		return status(err)
	}
	h.fd = fd
	f.lendIfMany(&h)
	f.openHandle(&h, in.Flags, out)
	return fuse.OK
}

// openerOf keeps setuid and setgid bits, as a store through a mapping does.
func openerOf(h *fuse.InHeader) caller { return caller{uid: h.Uid, gid: h.Gid, caps: capFsetid} }

// openHandle enters a handle and tells the kernel how to treat it. A handle that can write does
// direct I/O, so each write is a request. The kernel keeps pages for readers.
func (f *rawFS) openHandle(h *handle, flags uint32, out *fuse.OpenOut) {
	h.write, h.mapped, h.dsync = writes(flags), flags&unix.O_ACCMODE == unix.O_RDWR, flags&unix.O_DSYNC != 0
	if h.write && f.onlyAppends(h.node) {
		h.audit = true
	}
	h.unflushed = !h.write && !h.node.locked.ever.Load()
	out.Fh = f.handles.add(h)
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if h.write {
		// Writes into one file run side by side; the backing file system orders them.
		out.OpenFlags |= fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES
		return
	}
	var st unix.Stat_t
	switch {
	case f.opts.Enforcement.Quiesced() && h.node.hasWriters():
		// A write that waits keeps the kernel from opening the file with its cache (fuse_file_cached_io_open), and
		// what is stored through a mapping would show in its pages.
		out.OpenFlags |= fuse.FOPEN_DIRECT_IO
	case unix.Fstat(h.fd, &st) != nil || !f.sameContent(h.node, &st):
		out.OpenFlags = 0
	}
	if h.unflushed {
		out.OpenFlags |= fuse.FOPEN_NOFLUSH
	}
}

// Release closes a handle.
func (f *rawFS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	f.stats.count(gate.OpRelease)
	if h := f.handles.get(in.Fh); h != nil {
		f.endFlocks(h)
		f.locks.Released(h.id)
		f.closeOrDefer(h)
	}
}

func (f *rawFS) release(id uint64) {
	h := f.handles.get(id)
	if err := f.handles.release(id); err != nil {
		_ = f.kernel.Prune([]uint64{h.node.id}) // since Linux 6.18 it is forgotten soon
		f.opts.Log.Warn("a file that was closed stays open until it is opened or forgotten", zap.Error(err))
	}
}

// Fsync makes a file durable. Through a handle that can write it counts as a mutation: a stale
// holder must not make its writes durable.
func (f *rawFS) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) (st fuse.Status) {
	f.stats.count(gate.OpFsync)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	if h.write {
		var p permit
		if p, st = f.admitHandle(cancel, gate.OpFsync, &in.InHeader, h); st != fuse.OK {
			return st
		}
		defer p.leave(&st)
		p.place.Release() // a rename of the file need not wait: no byte changes
		p.held.Release()
		if h.lost.Swap(false) {
			return fuse.EIO
		}
	}
	if f.relies && h.write {
		return f.tellIfUnsure(h, h.fsync(syncCall(in.FsyncFlags)))
	}
	return syncFD(h.fd, in.FsyncFlags)
}

func syncFD(fd int, flags uint32) fuse.Status {
	return status(retry(func() error { return syncCall(flags)(fd) }))
}

// syncCall is the system call that a FSYNC asks for.
func syncCall(flags uint32) func(fd int) error {
	const dataOnly = 1 // FUSE_FSYNC_FDATASYNC
	if flags&dataOnly != 0 {
		return unix.Fdatasync
	}
	return unix.Fsync
}
