package fusefs

import (
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// lockTable has the locks of the callers of this mount. The kernel sends each request for a lock
// (FUSE_POSIX_LOCKS, FUSE_FLOCK_LOCKS). It settles that when the mount is made, and cannot learn
// later that another mount has come. So all locks are on the backing file, where every mount and
// native processes see them.
type lockTable struct {
	off   bool         // locks stay in the kernel, between the callers of this mount
	max   int64        // descriptors
	count atomic.Int64 // of them in use
	stop  chan struct{}

	mu      sync.Mutex
	owners  map[lockKey]*lockOwner
	users   map[uint32]*lockUser
	waiting map[uint64]map[*lockWait]struct{} // by owner; only fcntl's
	waits   int
}

// nodeLocks is what a node knows of its locks. Guarded by the table's mutex, except atomic fields.
type nodeLocks struct {
	owners map[*lockOwner]struct{}
	waits  map[*lockWait]struct{}
	any    atomic.Int64 // owners
	ever   atomic.Bool  // somebody has locked it since the kernel knows it
	stale  atomic.Bool  // its pages are to be dropped soon, although its stamp is new
	near   atomic.Bool  // of a directory: a file in it was locked
	first  atomic.Bool  // nobody has got a lock yet; see granted
}

// lockIdleMax is how many owners may keep their descriptor while they have no lock.
const lockIdleMax = 1024

func newLockTable(off bool, b *budget) *lockTable {
	return &lockTable{
		off: off, max: b.full / 4, stop: make(chan struct{}), owners: make(map[lockKey]*lockOwner),
		users: make(map[uint32]*lockUser), waiting: make(map[uint64]map[*lockWait]struct{}),
	}
}

// lockRequest is a lock or an unlock that a caller asks for.
type lockRequest struct {
	key      lockKey
	span     lockSpan
	via      *handle
	pid, uid uint32
	thread   uint32 // that asks and waits for the answer
}

// try makes one attempt. EAGAIN says that another lock is in the way; then w (if not nil) is told
// when a lock of this daemon is released.
func (t *lockTable) try(f *rawFS, r *lockRequest, w *lockWait) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwait(w)
	o, err := t.owner(f, r)
	if o == nil || err != nil {
		return err
	}
	if _, known := o.via[r.via]; !known {
		o.via[r.via] = nil
		r.via.addLocker(o)
	}
	if r.span.kind != unix.F_UNLCK {
		o.pid = r.pid
	}
	before := len(o.spans) > 0
	err = o.apply(r.span, r.via)
	if before {
		t.wake(r.key.node)
	}
	if errors.Is(err, unix.EAGAIN) && w != nil {
		err = t.wait(w)
	} else if len(o.spans) == 0 && t.count.Load() > lockIdleMax {
		t.drop(o)
	}
	return err
}

// owner finds the owner of the lock, with a description that can do what is asked for. An unlock
// without a lock needs no owner.
func (t *lockTable) owner(f *rawFS, r *lockRequest) (*lockOwner, error) {
	o := t.owners[r.key]
	if o != nil && o.reused(r) {
		t.drop(o)
		o = nil
	}
	if o == nil && r.span.kind == unix.F_UNLCK {
		return nil, nil
	}
	if o == nil {
		return t.newOwner(f, r)
	}
	if o.write || r.key.flock || r.span.kind != unix.F_WRLCK {
		return o, nil
	}
	fd, err := f.openForLocks(r.key.node, true)
	if err == nil {
		if err = o.widen(fd); err != nil {
			_ = unix.Close(fd)
		}
	}
	return o, err
}

func (t *lockTable) newOwner(f *rawFS, r *lockRequest) (*lockOwner, error) {
	u := t.users[r.uid]
	if u == nil {
		u = &lockUser{uid: r.uid}
	}
	if t.count.Load() >= t.max || int64(u.descriptors) >= t.max/2 && r.uid != 0 {
		return nil, unix.ENOLCK
	}
	fd, err := f.openForLocks(r.key.node, r.via.write)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nil, unix.ENOLCK
	}
	if err != nil {
		return nil, err
	}
	o := &lockOwner{key: r.key, fd: fd, write: r.via.write, user: u, via: make(map[*handle]lockSpans)}
	t.users[r.uid] = u
	u.descriptors++
	t.count.Add(1)
	t.owners[r.key] = o
	n := &r.key.node.locks
	if n.owners == nil {
		n.owners = make(map[*lockOwner]struct{})
	}
	n.owners[o] = struct{}{}
	n.any.Add(1)
	if !n.ever.Swap(true) {
		f.lockedFirst(r.key.node)
	}
	return o, nil
}

// openForLocks opens the backing file only for locks. It is opened for writing only if the caller
// has done so, because nobody can execute such a file meanwhile. O_APPEND is for append-only files
// (chattr +a).
func (f *rawFS) openForLocks(n *node, write bool) (int, error) {
	flags := unix.O_NONBLOCK | unix.O_NOATIME | unix.O_CLOEXEC
	if write {
		flags |= unix.O_RDWR | unix.O_APPEND
	}
	return retryInt(func() (int, error) { return unix.Openat(f.procFD, number(n.fd), flags, 0) })
}

// drop ends an owner and all its locks.
func (t *lockTable) drop(o *lockOwner) {
	delete(t.owners, o.key)
	for h := range o.via {
		h.dropLocker(o)
	}
	n := &o.key.node.locks
	delete(n.owners, o)
	n.any.Add(-1)
	t.count.Add(-1)
	o.user.descriptors--
	o.user.spans -= len(o.spans)
	if o.user.descriptors == 0 {
		delete(t.users, o.user.uid)
	}
	_ = unix.Close(o.fd)
	t.wake(o.key.node)
}

// flushed is called when a process closes a descriptor of a file. Then it has no fcntl lock on the
// file any more, through any descriptor.
func (t *lockTable) flushed(n *node, owner uint64) {
	if n.locks.any.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owners[lockKey{node: n, owner: owner}]; o != nil {
		t.drop(o)
	}
}

// released is called when nobody has an open file any more. All who locked through it have closed
// it. That ends its flock, its open file description locks, and POSIX locks whose owner's close did
// not come by FLUSH. Locks of the same number through another open file stay: the number may have
// been reused (lockOwner.reused).
func (t *lockTable) released(h *handle) {
	if !h.locked.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for o := range h.lockers {
		if len(o.via) == 1 || o.leave(h) != nil {
			t.drop(o)
			continue
		}
		h.dropLocker(o)
		t.wake(o.key.node)
	}
}

// addLocker and dropLocker note who locks through a handle. Guarded by the lock table.
func (h *handle) addLocker(o *lockOwner) {
	if h.lockers == nil {
		h.lockers = make(map[*lockOwner]struct{})
	}
	h.lockers[o] = struct{}{}
	h.locked.Store(true)
}

func (h *handle) dropLocker(o *lockOwner) { delete(h.lockers, o) }

// holder finds who in this mount has a lock in the way of a span, except one owner. nil: nobody in
// this mount.
func (t *lockTable) holder(key lockKey, want lockSpan) *lockOwner {
	for o := range key.node.locks.owners {
		if o.key.flock != key.flock || o.key.owner == key.owner {
			continue
		}
		if o.spans.against(want) {
			return o
		}
	}
	return nil
}

// test is F_GETLK: the first lock in the way, and the process that has it, if known. -1 stands for
// a description's lock, as natively.
func (t *lockTable) test(r *lockRequest) (found lockSpan, pid uint32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd := r.via.fd
	if o := t.owners[r.key]; o != nil {
		fd = o.fd
	}
	l := flockOf(r.span)
	if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &l); err != nil {
		return lockSpan{}, 0, err
	}
	if l.Type == unix.F_UNLCK {
		return lockSpan{kind: unix.F_UNLCK}, 0, nil
	}
	found = spanOf(l)
	if l.Pid > 0 {
		return found, uint32(l.Pid), nil
	}
	if o := t.holder(r.key, lockSpan{max(found.start, r.span.start), min(found.end, r.span.end), r.span.kind}); o != nil {
		return found, o.pid, nil
	}
	return found, 0, nil
}

// end lets all waiters go: nobody asks any more.
func (t *lockTable) end() { close(t.stop) }

// close closes all descriptors. Nothing may be served any more.
func (t *lockTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.owners {
		t.drop(o)
	}
}
