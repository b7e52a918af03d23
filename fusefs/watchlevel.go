package fusefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// What of a directory is watched, from less to more. A node's level is what was asked
// for; there may be no watch behind it where the kernel has no more (watchesMax).
const (
	watchNothing uint32 = iota
	// watchNames is for where the kernel believes names for long: this mount's holder is
	// the only writer, and whoever writes past the mount must not stay unseen until the
	// lease ends.
	watchNames
	// watchAll is for where others may write and CacheTimeout is all that is promised.
	watchAll
)

// namesChanged are the changes of a directory's names, by whatever path they came.
const namesChanged = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// eventsOf is the mask of a level.
func eventsOf(level uint32) uint32 {
	const always = namesChanged | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	if level == watchAll {
		return always | unix.IN_MODIFY | unix.IN_ATTRIB
	}
	return always
}

// watch watches a directory, at least for what a level asks for. The watch stands when it
// returns, so that what is read of the directory afterwards can be believed. It asks the
// backing file system alone, and the disk not at all.
func (w *watcher) watch(f *rawFS, n *node, level uint32) {
	for was := n.watched.Load(); w.file != nil && n.isDir() && was < level; was = n.watched.Load() {
		if n.watched.CompareAndSwap(was, level) {
			w.add(f, n)
			return
		}
	}
}

// add gives a node the watch that its level asks for.
func (w *watcher) add(f *rawFS, n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.nodes.get(n.id) != n { // the kernel has let go of it, its descriptor is closed
		return
	}
	had := w.nodes[n.wd] == n
	if !had && w.count.Load() >= watchesMax {
		return
	}
	wd, err := w.ask(n)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) && w.count.Swap(watchesMax) < watchesMax {
			f.opts.Log.Warn("no more inotify watches: changes behind the mount are seen after the cache timeout (fs.inotify.max_user_watches)")
		}
		return
	}
	n.wd = wd
	w.nodes[wd] = n
	if !had {
		w.count.Add(1)
	}
}

// ask makes the watch, or changes the mask of the one that there is: an inode has one.
func (w *watcher) ask(n *node) (int32, error) {
	wd, err := w.control(func(fd int) (int, error) {
		return unix.InotifyAddWatch(fd, n.path(), eventsOf(n.watched.Load()))
	})
	return int32(wd), err
}

// lower watches names alone from now on; the lock is held.
func (w *watcher) lower(f *rawFS, n *node) {
	n.watched.Store(watchNames)
	if f.opts.Cache == CacheExclusive {
		w.drop(n.wd)
		return
	}
	if _, err := w.ask(n); err != nil {
		w.drop(n.wd)
	}
}
