package fusefs

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Where a mount relies on the fence agents of other hosts (Options.RelyOnFence), a write is answered when the store's client has it, as
// without jvsfs. The client may keep it for a while. But nobody else may hold before it has reached the store: a successor on another host
// that appends would ask for the file's size too early, and go over what was acknowledged. (GlusterFS tells of a close before it has
// written, MooseFS keeps what was written until the close.) So each handle knows whether it has written since it was synced last, and is
// synced
//   - when its file is closed, after the RELEASE, for which nobody waits (deferredCloses), and
//   - before its lease is given back, given away (Sync), or given up.

// dirty is what a handle has written that may not have reached the store.
type dirty struct {
	any    atomic.Bool
	mu     sync.Mutex   // held while the handle is synced, so that its descriptors stay
	closed bool         // under mu: they do not any more
	told   atomic.Bool  // by tellIfUnsure
	name   string       // under mu: of the file when it was closed, for people; its node may be forgotten then
	failed atomic.Int32 // the status of a sync that no program has asked for, and that its fsync was not told yet; 0: none
}

// markDirty says that a handle may have changed its file's content, after it has. So a sync that began before does not count for it.
func (f *rawFS) markDirty(h *handle) {
	if f.relies {
		h.dirty.any.Store(true)
	}
}

// sync returns when all that the handle has written before has reached the store. After an error it may not have, and the next call tries
// again. A store tells an error once, and what it then has dropped no later sync brings back: so the program's own fsync is told of it, too.
func (h *handle) sync() error {
	h.dirty.mu.Lock()
	defer h.dirty.mu.Unlock()
	if h.dirty.closed || !h.dirty.any.Load() {
		return nil
	}
	err := h.syncBy(unix.Fdatasync)
	if err != nil {
		h.dirty.failed.Store(int32(status(err)))
	}
	return err
}

// fsync is what a program asks for. It reaches what was appended by a descriptor of its own, too (tail).
func (h *handle) fsync(do func(fd int) error) fuse.Status {
	h.dirty.mu.Lock()
	defer h.dirty.mu.Unlock()
	st := status(h.syncBy(do))
	if before := fuse.Status(h.dirty.failed.Swap(0)); st == fuse.OK {
		return before
	}
	return st
}

// syncBy syncs all descriptors. Under mu of dirty.
func (h *handle) syncBy(do func(fd int) error) error {
	h.dirty.any.Store(false)
	err := h.eachDescriptor(do)
	if err != nil {
		h.dirty.any.Store(true)
	}
	return err
}

// eachDescriptor calls do for the descriptors that the handle writes through.
func (h *handle) eachDescriptor(do func(fd int) error) error {
	err := retry(func() error { return do(h.fd) })
	h.tail.mu.Lock()
	defer h.tail.mu.Unlock()
	if h.tail.fd != 0 {
		err = errors.Join(err, retry(func() error { return do(h.tail.fd) }))
	}
	return err
}

// deferredCloses are the handles whose files were closed and that are being synced. They are no reader's business: a store that syncs nothing for a
// while would have all readers, and the mount would stand still. The zero value is ready.
type deferredCloses struct {
	wg   sync.WaitGroup
	once sync.Once
	turn chan struct{} // who has put a value in may sync
}

// closingsMax is how many are synced at a time. Each may need a thread.
const closingsMax = 64

// begin runs f when it may sync.
func (c *deferredCloses) begin(f func()) {
	c.once.Do(func() { c.turn = make(chan struct{}, closingsMax) })
	c.wg.Go(func() {
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		f()
	})
}

// closeOrDefer ends a handle whose file was closed: at once, or when it is synced. Until then it stays in the table, where the end of its lease
// finds it.
func (f *rawFS) closeOrDefer(h *handle) {
	if !f.relies || h.dirty.endsAtOnce() {
		f.release(h.id)
		return
	}
	name := h.node.name()
	f.deferredCloses.begin(func() {
		h.dirty.mu.Lock()
		h.dirty.name = name
		h.dirty.mu.Unlock()
		_ = f.syncOrTell(h) // nobody waits for the answer to a RELEASE
		h.dirty.end()
		f.release(h.id)
	})
}

// endsAtOnce is end, if nothing is to be synced and nobody just does it.
func (u *dirty) endsAtOnce() bool {
	if u.any.Load() || !u.mu.TryLock() {
		return false
	}
	defer u.mu.Unlock()
	u.closed = true
	return true
}

// end says that the descriptors go.
func (u *dirty) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

// syncOrTell syncs a handle. What may be lost then is told: its writer has had its answer.
func (f *rawFS) syncOrTell(h *handle) error {
	err := h.sync()
	if err != nil {
		f.tell(h, err)
	}
	return err
}

// tellIfUnsure tells, once, that a program's own fsync or close has failed so that what was written may reach the store yet: the program knows,
// and the lease must not be given back (Unsure).
func (f *rawFS) tellIfUnsure(h *handle, st fuse.Status) fuse.Status {
	if f.relies && mayHaveLanded(st) && !h.dirty.told.Swap(true) {
		f.tell(h, unix.Errno(st))
	}
	return st
}

func (f *rawFS) tell(h *handle, err error) {
	h.dirty.mu.Lock()
	name := h.dirty.name
	h.dirty.mu.Unlock()
	if name == "" {
		name = h.node.name()
	}
	unsure := mayHaveLanded(status(err))
	for _, c := range h.claims {
		c.guard.ReportUnsynced(c.epoch, lease.LateWrite{Op: gate.OpFsync.String(), File: name, Failed: err.Error(), Unsynced: true, Unsure: unsure})
	}
}

// name is where a file is, for people. It is empty if that cannot be told.
func (n *node) name() string {
	name, _ := os.Readlink(n.path()) // its error says no more
	return name
}

// syncer returns the hook that runs when nothing is in flight any more under a lease. What goes wrong is told, and the lease is over all
// the same.
func (f *rawFS) syncer(g *gate.Guard) func() {
	return func() { _ = f.syncWritten(func(h *handle) bool { return !h.ofLeases() || h.restsOn(g) }) }
}

// Sync returns when all that was acknowledged before has reached the store, where that is not so after each write (Options.RelyOnFence).
// It may hang as long as the store does.
func (s *Server) Sync() error { return s.fs.syncWritten(func(*handle) bool { return true }) }

// syncers is how many handles are synced at a time.
const syncers = 8

func (f *rawFS) syncWritten(of func(*handle) bool) error {
	if !f.relies {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(syncers)
	f.handles.writers(func(h *handle) {
		if of(h) {
			group.Go(func() error { return f.syncOrTell(h) }) // also one that is just being synced, to wait for it
		}
	})
	return group.Wait()
}

// flushToStore is what a close means to the store's client: it says what went wrong with what was written.
func (f *rawFS) flushToStore(h *handle) fuse.Status {
	if before := fuse.Status(h.dirty.failed.Load()); before != fuse.OK {
		return before // an fsync that follows is told, too
	}
	if !f.relies || !h.dirty.any.Load() {
		return fuse.OK
	}
	return f.tellIfUnsure(h, status(h.eachDescriptor(func(fd int) error {
		again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(again)
	})))
}
