package fusefs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/flock"
)

// Whoever gets a lock expects to see what the previous owner has written. So if others may write, the kernel caches no attributes of a file
// that was ever locked, and no names beside it (a journal that is gone is gone). If the file has changed since, its pages are dropped
// before a lock is granted. They are not dropped a moment later: if an invalidation overtakes an answer with attributes, the kernel forgets
// that answer and keeps the old size.

// lockedCaches is what the kernel may cache of an inode that was locked, or has locked files.
type lockedCaches struct {
	begin  sync.Once
	ever   atomic.Bool // somebody has locked it since the kernel knows it
	first  atomic.Bool // nobody has got a lock yet; the kernel may have names from before that others have changed since
	stale  atomic.Bool // its pages are to be dropped soon, although its stamp is new
	beside atomic.Bool // of a directory: a file in it was locked
}

// namesWait bounds the wait until the kernel knows them.
const namesWait = time.Second

// noteLocked ends what the kernel cached before the first lock. From now on the names in the file's parents are looked up each time.
func (f *rawFS) noteLocked(n *node, r *flock.Request) {
	if r.Span.Kind == unix.F_UNLCK {
		return
	}
	n.locked.begin.Do(func() {
		n.locked.ever.Store(true)
		for _, dir := range n.parentList() {
			dir.locked.beside.Store(true)
		}
		n.locked.first.Store(true)
		f.kernel.DropAttr(n.id)
	})
}

// mustReadAnew reports whether the kernel may have what is older than a lock.
func (f *rawFS) mustReadAnew(n *node, r *flock.Request) bool {
	_, stale := f.stalePages(n, r)
	return stale || staleNames(n, r)
}

func staleNames(n *node, r *flock.Request) bool {
	return r.Span.Kind != unix.F_UNLCK && n.locked.first.Load()
}

// stalePages reports whether the kernel may have pages of an older content. Whoever has opened the
// file for writing reads past the pages, except those that are dropped soon.
func (f *rawFS) stalePages(n *node, r *flock.Request) (now stamp, stale bool) {
	if r.Span.Kind == unix.F_UNLCK || f.cacheTTL(n) > f.opts.CacheTimeout {
		return stamp{}, false
	}
	if r.Open.Write && !n.locked.stale.Load() {
		return stamp{}, false
	}
	var st unix.Stat_t
	if unix.Fstat(n.fd, &st) != nil {
		return stamp{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now = stampOf(&st)
	return now, n.locked.stale.Load() || n.isDoubted() || n.stamp != (stamp{}) && (n.stamp.mtime != now.mtime || n.stamp.size != now.size)
}

// readAnew makes whoever has got a lock see what was written before. It may wait for the kernel.
func (f *rawFS) readAnew(n *node, r *flock.Request) {
	if staleNames(n, r) {
		f.watcher.caughtUp(min(f.opts.CacheTimeout, namesWait))
		n.locked.first.Store(false)
	}
	now, stale := f.stalePages(n, r)
	if !stale {
		return
	}
	n.locked.stale.Store(false)
	f.inval.cancel(n.id)
	_ = f.inval.now(context.Background(), []uint64{n.id}) // without a deadline there is no error
	n.mu.Lock()
	f.noteStamp(n, now)
	n.mu.Unlock()
}
