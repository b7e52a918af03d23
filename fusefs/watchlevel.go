package fusefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// What is watched in a directory, from less to more. A node's level is what was asked for. It may
// have no watch if the kernel allows no more (watchesMax).
const (
	watchNothing uint32 = iota
	// watchNames is for directories whose names the kernel caches for long: this mount's holder is
	// the only writer. A change behind the mount must not stay unseen until the lease ends.
	watchNames
	// watchAll is for directories that others may write to and that are cached for CacheTimeout.
	watchAll
)

// namesChanged are the changes of a directory's names, through any path.
const namesChanged = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// eventsOf is the mask of a level.
func eventsOf(level uint32) uint32 {
	const always = namesChanged | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	if level == watchAll {
		return always | unix.IN_MODIFY | unix.IN_ATTRIB
	}
	return always
}

// watch watches a directory, at least for what a level needs. When it returns the watch exists, so what is read of the directory afterwards
// can be cached. It asks only the backing file system, and never the disk.
func (w *watcher) watch(f *rawFS, n *node, level uint32) {
	for was := n.watched.Load(); w.inotify != nil && n.IsDir() && was < level; was = n.watched.Load() {
		if n.watched.CompareAndSwap(was, level) {
			w.add(f, n)
			return
		}
	}
}

// add gives a node the watch of its level.
func (w *watcher) add(f *rawFS, n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.nodes.get(n.id) != n { // the kernel has forgotten it, its descriptor is closed
		return
	}
	_, had := w.nodes.By[n]
	if !had && w.count.Load() >= watchesMax {
		return
	}
	watch, err := w.ask(n)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) && w.count.Swap(watchesMax) < watchesMax {
			f.opts.Log.Warn("no more inotify watches: changes behind the mount are seen after the cache timeout (fs.inotify.max_user_watches)")
		}
		return
	}
	w.nodes.Put(watch, n)
	if !had {
		w.count.Add(1)
	}
}

// has reports whether a directory has a watch.
func (w *watcher) has(n *node) bool {
	if n.watched.Load() == watchNothing {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, is := w.nodes.By[n]
	return is
}

// ask makes the watch, or changes the mask of the existing one: an inode has one watch.
func (w *watcher) ask(n *node) (int32, error) {
	return w.inotify.Add(n.path(), eventsOf(n.watched.Load()))
}

// lower watches only names from now on. The caller has the lock.
func (w *watcher) lower(f *rawFS, n *node) {
	n.watched.Store(watchNames)
	if f.opts.Cache == CacheExclusive {
		w.drop(n)
		return
	}
	if _, err := w.ask(n); err != nil {
		w.drop(n)
	}
}
