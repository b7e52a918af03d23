package fusefs

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/inotify"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// watcher sees changes that are made behind the mount on the same kernel. It tells the mount's kernel side at once, instead of after
// CacheTimeout. It watches the directories that were looked into: all changes if others may write there, and changes of names if this
// mount's holder is the only writer (watchlevel.go). There most events are the mount's own; self_events.go recognises them.
//
// inotify does not see changes by another host on a shared store. There only CacheTimeout counts, as for directories beyond watchesMax.
type watcher struct {
	inotify *inotify.Client // nil if there is none
	count   atomic.Int64

	mu    sync.Mutex
	nodes inotify.Watches[*node]
}

// watchesMax bounds the memory that watches pin in the kernel, about 1 KiB each.
const watchesMax = 16_384

// gatherFor is how long events are gathered before they are read. Otherwise a writer in a watched
// directory would wake the daemon for each name.
const gatherFor = 10 * time.Millisecond

func newWatcher() *watcher {
	client, _ := inotify.New() // without one, changes are seen after CacheTimeout
	return &watcher{inotify: client, nodes: inotify.NewWatches[*node]()}
}

// run serves until stop is closed.
func (w *watcher) run(f *rawFS, stop <-chan struct{}) {
	if w.inotify == nil {
		<-stop
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { w.read(f) })
	<-stop
	w.close() // ends read
	wg.Wait()
}

// forget ends the watch of a node that the kernel has forgotten.
func (w *watcher) forget(n *node) {
	if w.inotify == nil || n.watched.Load() == watchNothing {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(n)
}

// drop ends the watch of a node. The caller has the lock.
func (w *watcher) drop(n *node) {
	watch, known := w.nodes.By[n]
	if !known {
		return
	}
	w.nodes.Delete(watch)
	n.watched.Store(watchNothing)
	n.forgetSelfEvents()
	w.count.Add(-1)
	w.inotify.Remove(watch)
}

func (w *watcher) close() {
	if w.inotify != nil {
		w.inotify.Close()
	}
}

// caughtUp returns when the kernel knows every change behind the mount that inotify has reported so far, or after limit. The wait is
// bounded because the kernel may have a directory locked. After limit its caches have expired anyway.
func (w *watcher) caughtUp(limit time.Duration) {
	if w.inotify != nil {
		w.inotify.CaughtUp(limit)
	}
}

// read reads events until there are no more.
func (w *watcher) read(f *rawFS) {
	for {
		own, err := w.inotify.Next(func(e inotify.Event) (own bool) { return w.event(f, e) })
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				f.opts.Log.Warn("inotify", zap.Error(err))
			}
			return
		}
		if own && !w.inotify.Gather(gatherFor) { // there is no hurry
			return
		}
	}
}

// event tells the kernel of one change, unless it is the mount's own.
func (w *watcher) event(f *rawFS, e inotify.Event) (own bool) {
	if e.Mask&unix.IN_Q_OVERFLOW != 0 {
		// A dropped change is seen after CacheTimeout, like everything without an event.
		f.opts.Log.Info("changes behind the mount come faster than inotify tells: some are seen after the cache timeout (fs.inotify.max_queued_events)")
		w.forgetSelfEvents()
		return false
	}
	n := w.about(f, e)
	if n == nil || e.Mask&namesChanged != 0 && n.tookSelfEvent(e.Name) {
		return true
	}
	f.changedBehind(n, e.Name, e.Mask)
	return false
}

// about returns the directory of an event, or nil if the event does not matter. If now only this
// mount's holder writes to the directory, it is watched only for names from now on.
func (w *watcher) about(f *rawFS, e inotify.Event) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.nodes.Of[e.Watch]
	switch {
	case !known:
		return nil
	case e.Mask&unix.IN_IGNORED != 0: // it is gone
		w.drop(n)
		return nil
	case n.watched.Load() == watchAll && f.cacheTTL(n) > f.opts.CacheTimeout:
		w.lower(f, n)
		return nil
	}
	return n
}

// changedBehind makes the kernel ask again for what has changed in a directory.
func (f *rawFS) changedBehind(dir *node, name string, mask uint32) {
	if name == "" || mask&namesChanged != 0 {
		f.kernel.DropAttr(dir.id)
	}
	if name == "" {
		return
	}
	if mask&namesChanged != 0 {
		dir.knownNames.Store(nil)
		f.kernel.Expire(dir.id, name)
	}
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	child := f.nodes.find(tree.KeyOf(&st))
	if child == nil {
		return
	}
	if child.locked.ever.Load() { // its attributes are not cached; see lockcache.go
		child.locked.stale.Store(true)
		return
	}
	if mask&unix.IN_MODIFY != 0 && !child.hasWriters() {
		f.inval.soon(child.id)
		return
	}
	f.kernel.DropAttr(child.id)
}
