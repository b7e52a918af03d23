package fusefs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// watcher sees changes that are made behind the mount on the same kernel. It tells the mount's
// kernel side at once, instead of after CacheTimeout. It watches the directories that were looked
// into: all changes if others may write there, and changes of names if this mount's holder is the
// only writer (watchlevel.go). There most events are the mount's own; ownnames.go recognises them.
//
// inotify does not see changes by another host on a shared store. There only CacheTimeout counts,
// as for directories beyond watchesMax.
type watcher struct {
	file   *os.File // inotify, nil if there is none
	told   *oneShot // of file
	count  atomic.Int64
	hurry  chan struct{} // somebody waits for the events so far
	ended  chan struct{} // closed with file
	behind waitingFor

	mu    sync.Mutex
	nodes map[int32]*node // by watch descriptor
}

// watchesMax bounds the memory that watches pin in the kernel, about 1 KiB each.
const watchesMax = 16_384

// gatherFor is how long events are gathered before they are read. Otherwise a writer in a watched
// directory would wake the daemon for each name.
const gatherFor = 10 * time.Millisecond

func newWatcher() *watcher {
	w := &watcher{hurry: make(chan struct{}, 1), ended: make(chan struct{}), nodes: make(map[int32]*node)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return w
	}
	file := os.NewFile(uintptr(fd), "inotify") // not for Go's poller, because it may block so far
	if w.told, err = newOneShot(fd); err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = file.Close()
		return w
	}
	w.file = file
	return w
}

// run serves until stop is closed.
func (w *watcher) run(f *rawFS, stop <-chan struct{}) {
	if w.file == nil {
		<-stop
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { w.read(f) })
	<-stop
	close(w.ended)
	w.close() // ends read
	wg.Wait()
}

// control runs a call on the descriptor, which Close may close meanwhile.
func (w *watcher) control(call func(fd int) (int, error)) (n int, err error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := conn.Control(func(fd uintptr) { n, err = call(int(fd)) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

// forget ends the watch of a node that the kernel has forgotten.
func (w *watcher) forget(n *node) {
	if w.file == nil || n.watched.Load() == watchNothing {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[n.wd] == n {
		w.drop(n.wd)
	}
}

// drop ends a watch. The caller has the lock.
func (w *watcher) drop(wd int32) {
	n, known := w.nodes[wd]
	if !known {
		return
	}
	delete(w.nodes, wd)
	n.watched.Store(watchNothing)
	n.forgetOwnNames()
	w.count.Add(-1)
	_, _ = w.control(func(fd int) (int, error) { return unix.InotifyRmWatch(fd, uint32(wd)) })
}

func (w *watcher) close() {
	if w.file != nil {
		w.told.close()
		_ = w.file.Close()
	}
}

// read reads events until the descriptor is closed.
func (w *watcher) read(f *rawFS) {
	buf := make([]byte, 64<<10)
	for {
		err := w.told.wait()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.catchUp(f, buf)
			continue
		}
		n := 0
		if err == nil {
			n, err = w.some(buf)
		}
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				f.opts.Log.Warn("inotify", zap.Error(err))
			}
			return
		}
		if w.events(f, buf[:n]) && !w.gather() {
			return
		}
	}
}

// some reads events, as many as there are and fit. It does not wait.
func (w *watcher) some(buf []byte) (int, error) {
	n, err := w.control(func(fd int) (int, error) { return retryInt(func() (int, error) { return unix.Read(fd, buf) }) })
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil // a caller that was waiting took them
	}
	return n, err
}

// events handles the events of one read. It reports whether all were the mount's own changes: then
// there is no hurry.
func (w *watcher) events(f *rawFS, read []byte) (own bool) {
	own = true
	for rest := read; len(rest) >= unix.SizeofInotifyEvent; {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
		if size > len(rest) {
			break
		}
		if !w.event(f, int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:]), rest[unix.SizeofInotifyEvent:size]) {
			own = false
		}
		rest = rest[size:]
	}
	return own
}

// gather waits for events to come together. It reports whether there is more to read.
func (w *watcher) gather() bool {
	t := time.NewTimer(gatherFor)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.hurry:
	case <-w.ended:
		return false
	}
	return true
}

// event tells the kernel of one change, unless it is the mount's own. Layout: wd 4, mask 4, cookie
// 4, len 4, name.
func (w *watcher) event(f *rawFS, wd int32, mask uint32, padded []byte) (own bool) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		// A dropped change is seen after CacheTimeout, like everything without an event.
		f.opts.Log.Info("changes behind the mount come faster than inotify tells: some are seen after the cache timeout (fs.inotify.max_queued_events)")
		w.forgetOwnNames()
		return false
	}
	raw, _, _ := bytes.Cut(padded, []byte{0})
	name := string(raw)
	n := w.about(f, wd, mask)
	if n == nil || mask&namesChanged != 0 && n.tookOwnName(name) {
		return true
	}
	f.changedBehind(n, name, mask)
	return false
}

// about returns the directory of an event, or nil if the event does not matter. If now only this
// mount's holder writes to the directory, it is watched only for names from now on.
func (w *watcher) about(f *rawFS, wd int32, mask uint32) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[wd]
	switch {
	case mask&unix.IN_IGNORED != 0: // it is gone
		w.drop(wd)
		return nil
	case n != nil && n.watched.Load() == watchAll && f.certain(n) > f.opts.CacheTimeout:
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
		dir.madeHere.Store(nil)
		f.kernel.Expire(dir.id, name)
	}
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	child := f.nodes.find(keyOf(&st))
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
