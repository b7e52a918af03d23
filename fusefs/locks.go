package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/fusefs/flock"
	"github.com/jvsfs/jvsfs/gate"
)

// File locks are taken on the backing file. So they conflict with locks of all mounts of a source and of native processes (package flock).
// No lease is needed: a lock changes nothing. Locks of directories, FIFOs and devices never come here: the kernel keeps them in the mount.

// lockRequest reads a request of the kernel.
func (f *rawFS) lockRequest(in *fuse.LkIn) (*node, *flock.Request, fuse.Status) {
	if f.opts.LocalLocks {
		return nil, nil, fuse.ENOSYS
	}
	h := f.handles.get(in.Fh)
	if h == nil {
		return nil, nil, fuse.EBADF
	}
	if in.Lk.Start > in.Lk.End || in.Lk.End > flock.WholeFile {
		return nil, nil, fuse.EINVAL
	}
	return h.node, &flock.Request{
		Owner: flock.Owner{File: h.node.id, Number: in.Owner, Flock: in.LkFlags&fuse.LK_FLOCK != 0},
		Span:  flock.Span{Start: in.Lk.Start, End: in.Lk.End, Kind: in.Lk.Typ},
		Open:  flock.Open{Number: h.id, FD: h.fd, Inode: h.node.fd, Write: h.write, Silent: h.unflushed},
		PID:   in.Lk.Pid, UID: in.Uid, Thread: in.Pid,
	}, fuse.OK
}

// GetLk says whose lock is in the way.
func (f *rawFS) GetLk(_ <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	f.stats.count(gate.OpGetLk)
	_, r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st
	}
	found, pid, err := f.locks.Test(r)
	out.Lk = fuse.FileLock{Start: found.Start, End: found.End, Typ: found.Kind, Pid: pid}
	return status(err)
}

// SetLk takes or releases a lock. It waits only for a close that is under way.
func (f *rawFS) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLk)
	return f.lock(cancel, in, f.locks.Set)
}

// SetLkw takes a lock as soon as it can be had.
func (f *rawFS) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLkw)
	return f.lock(cancel, in, f.locks.SetWait)
}

// lock takes or releases a lock. It may wait for the kernel, too.
func (f *rawFS) lock(cancel <-chan struct{}, in *fuse.LkIn, set func(<-chan struct{}, *flock.Request) error) fuse.Status {
	n, r, st := f.lockRequest(in)
	if st == fuse.OK {
		st = f.mayFlock(n, r)
	}
	if st != fuse.OK {
		return st
	}
	if !takesFlock(r) { // a tenure ends while the lock still keeps others out
		f.endFlock(r.Owner)
	}
	f.noteLocked(n, r)
	if err := set(cancel, r); err != nil {
		return status(err)
	}
	if st := f.afterFlock(n, r); st != fuse.OK {
		return st
	}
	f.readAnew(n, r)
	return fuse.OK
}

// LockNow answers a request that need not wait. Otherwise SetLk or SetLkw handles it in a goroutine of its own.
func (f *rawFS) LockNow(in *fuse.LkIn, wait bool) (st fuse.Status, done bool) {
	n, r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st, true
	}
	if r.Flock && f.rules.IsFlocked(n) { // what is in flight under the lock may have to be waited for
		return fuse.OK, false
	}
	f.noteLocked(n, r)
	done, err := f.locks.Now(r, wait)
	if !done || err == nil && f.mustReadAnew(n, r) {
		return fuse.OK, false
	}
	f.stats.count(opOfLock(wait))
	return status(err), true
}

func opOfLock(wait bool) gate.Op {
	if wait {
		return gate.OpSetLkw
	}
	return gate.OpSetLk
}

// Flush comes when a process closes a descriptor: its POSIX locks on the file end. There is nothing to write back. If locks stay in the
// kernel, it sends no FLUSH after this answer, which saves a round trip for each close.
func (f *rawFS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	f.stats.count(gate.OpFlush)
	if f.opts.LocalLocks && !f.relies {
		return fuse.ENOSYS
	}
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.OK
	}
	f.locks.Flushed(h.id, h.node.id, in.LockOwner)
	return f.flushToStore(h)
}
