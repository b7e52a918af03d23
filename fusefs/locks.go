package fusefs

import (
	"errors"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// File locks are taken on the backing file. So they conflict with locks of all mounts of a source
// and of native processes (lockTable). No lease is needed: a lock changes nothing. Locks of
// directories, FIFOs and devices never come here: the kernel keeps them in the mount.

// lockRequest reads a request of the kernel.
func (f *rawFS) lockRequest(in *fuse.LkIn) (*lockRequest, fuse.Status) {
	if f.locks.off {
		return nil, fuse.ENOSYS
	}
	h := f.handles.get(in.Fh)
	if h == nil {
		return nil, fuse.EBADF
	}
	if in.Lk.Start > in.Lk.End || in.Lk.End > wholeFile {
		return nil, fuse.EINVAL
	}
	return &lockRequest{
		key:  lockKey{node: h.node, owner: in.Owner, flock: in.LkFlags&fuse.LK_FLOCK != 0},
		span: lockSpan{start: in.Lk.Start, end: in.Lk.End, kind: in.Lk.Typ},
		via:  h, pid: in.Lk.Pid, uid: in.Uid, thread: in.Pid,
	}, fuse.OK
}

// GetLk says whose lock is in the way.
func (f *rawFS) GetLk(_ <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	f.stats.count(gate.OpGetLk)
	r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st
	}
	found, pid, err := f.locks.test(r)
	out.Lk = fuse.FileLock{Start: found.start, End: found.end, Typ: found.kind, Pid: pid}
	return status(err)
}

// SetLk takes or releases a lock. It waits only for a close that is under way.
func (f *rawFS) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLk)
	r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st
	}
	if st := f.admitFlock(r); st != fuse.OK {
		return st
	}
	f.beforeFlock(r)
	var err error
	if grace := f.locks.closing(r); grace > 0 {
		err = f.await(cancel, r, time.After(grace))
	} else {
		err = f.locks.try(f, r, nil)
	}
	return f.granted(r, err)
}

// SetLkw takes a lock as soon as it can be had.
func (f *rawFS) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLkw)
	r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st
	}
	if st := f.admitFlock(r); st != fuse.OK {
		return st
	}
	f.beforeFlock(r)
	return f.granted(r, f.await(cancel, r, nil))
}

// LockNow answers a request that need not wait. Otherwise SetLk or SetLkw handles it in a
// goroutine of its own.
func (f *rawFS) LockNow(in *fuse.LkIn, wait bool) (st fuse.Status, done bool) {
	r, st := f.lockRequest(in)
	if st != fuse.OK {
		return st, true
	}
	if f.ofFlock(r) { // what is in flight under the lock may have to be waited for
		return fuse.OK, false
	}
	err := f.locks.try(f, r, nil)
	if errors.Is(err, unix.EAGAIN) && (wait || f.locks.closing(r) > 0) {
		return fuse.OK, false
	}
	if _, stale := f.stalePages(r); err == nil && (stale || staleNames(r)) {
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

// Flush comes when a process closes a descriptor: its POSIX locks on the file end. There is nothing
// to write back. If locks stay in the kernel, it sends no FLUSH after this answer, which saves a
// round trip for each close.
func (f *rawFS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	f.stats.count(gate.OpFlush)
	if f.locks.off && !f.relies {
		return fuse.ENOSYS
	}
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.OK
	}
	if !f.locks.off {
		h.flushed.Store(true)
		f.locks.flushed(h.node, in.LockOwner)
	}
	return f.flushToStore(h)
}
