package fusefs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Whoever has a lock expects to see what the one before has left. So, where others may
// write, the kernel believes nothing of the attributes of a file that was ever locked,
// nor of the names beside it (a journal that is gone is gone), and pages that it keeps
// for readers are dropped before a lock is granted if the file has changed since. They
// are not dropped a moment later: the kernel forgets an answer with attributes that an
// invalidation overtakes, and would go on with the size that it had.

// lockedFirst ends what the kernel believed before the first lock. It is called for the
// node's parents, too, whose names are asked for again each time from now on.
func (f *rawFS) lockedFirst(n *node) {
	if parents := n.parents.Load(); parents != nil {
		for _, dir := range *parents {
			dir.locks.near.Store(true)
		}
	}
	n.locks.first.Store(true)
	f.kernel.dropAttr(n.id)
}

// staleNames reports whether the kernel may believe names from before the first lock that
// others have changed since.
func staleNames(r *lockRequest) bool {
	return r.span.kind != unix.F_UNLCK && r.key.node.locks.first.Load()
}

// namesWait bounds the wait for the kernel to be told of them.
const namesWait = time.Second

// stalePages reports whether the kernel may have pages of another content than the file
// has now. Who has opened it for writing reads past them, but for what is dropped soon.
func (f *rawFS) stalePages(r *lockRequest) (now stamp, stale bool) {
	n := r.key.node
	if r.span.kind == unix.F_UNLCK || f.certain(n) > f.opts.CacheTimeout {
		return stamp{}, false
	}
	if r.via.write && !n.locks.stale.Load() {
		return stamp{}, false
	}
	var st unix.Stat_t
	if unix.Fstat(n.fd, &st) != nil {
		return stamp{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now = stampOf(&st)
	return now, n.locks.stale.Load() || n.stamp != (stamp{}) && (n.stamp.mtime != now.mtime || n.stamp.size != now.size)
}

// granted answers SETLK and SETLKW. It may wait for the kernel.
func (f *rawFS) granted(r *lockRequest, err error) fuse.Status {
	if err != nil {
		return status(err)
	}
	if staleNames(r) {
		f.watcher.caughtUp(min(f.opts.CacheTimeout, namesWait))
		r.key.node.locks.first.Store(false)
	}
	now, stale := f.stalePages(r)
	if !stale {
		return fuse.OK
	}
	n := r.key.node
	n.locks.stale.Store(false)
	f.inval.cancel(n.id)
	_ = f.inval.now(context.Background(), []uint64{n.id}) // without an end there is no error
	n.mu.Lock()
	n.stamp = now
	n.mu.Unlock()
	return fuse.OK
}
