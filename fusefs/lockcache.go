package fusefs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Whoever gets a lock expects to see what the previous owner has written. So if others may write,
// the kernel caches no attributes of a file that was ever locked, and no names beside it (a journal
// that is gone is gone). If the file has changed since, its pages are dropped before a lock is
// granted. They are not dropped a moment later: if an invalidation overtakes an answer with
// attributes, the kernel forgets that answer and keeps the old size.

// lockedFirst ends what the kernel cached before the first lock. It is also called for the node's
// parents; their names are looked up each time from now on.
func (f *rawFS) lockedFirst(n *node) {
	if parents := n.parents.Load(); parents != nil {
		for _, dir := range *parents {
			dir.locks.near.Store(true)
		}
	}
	n.locks.first.Store(true)
	f.kernel.DropAttr(n.id)
}

// staleNames reports whether the kernel may cache names from before the first lock that others have
// changed since.
func staleNames(r *lockRequest) bool {
	return r.span.kind != unix.F_UNLCK && r.key.node.locks.first.Load()
}

// namesWait bounds the wait until the kernel knows them.
const namesWait = time.Second

// stalePages reports whether the kernel may have pages of an older content. Whoever has opened the
// file for writing reads past the pages, except those that are dropped soon.
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
	return now, n.locks.stale.Load() || n.isDoubted() || n.stamp != (stamp{}) && (n.stamp.mtime != now.mtime || n.stamp.size != now.size)
}

// granted answers SETLK and SETLKW. It may wait for the kernel.
func (f *rawFS) granted(r *lockRequest, err error) fuse.Status {
	if err != nil {
		return status(err)
	}
	if st := f.afterFlock(r); st != fuse.OK {
		return st
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
	_ = f.inval.now(context.Background(), []uint64{n.id}) // without a deadline there is no error
	n.mu.Lock()
	f.noteStamp(n, now)
	n.mu.Unlock()
	return fuse.OK
}
