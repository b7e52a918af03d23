package flock

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Table has the locks of the callers of this mount. The kernel sends each request for a lock (FUSE_POSIX_LOCKS, FUSE_FLOCK_LOCKS). It
// settles that when the mount is made, and cannot learn later that another mount has come. So all locks are on the backing file, where
// every mount and native processes see them.
type Table struct {
	proc  int          // O_PATH of /proc/self/fd
	max   int64        // descriptors
	Count atomic.Int64 // of them in use; to read
	stop  chan struct{}

	mu      sync.Mutex
	owners  map[Owner]*owner
	users   map[uint32]*user
	waiting map[uint64]map[*waiter]struct{} // by owner; only fcntl's
	waits   int
	// They are written under mu, and read without it by all who close a file: mu is held across calls to the store.
	files sync.Map     // by number: *file
	opens sync.Map     // by number: *openFile
	used  atomic.Int64 // how many opens there are; 0: nobody has a lock
}

// file is a file that has an owner of locks, or somebody who waits for one. Guarded by the table's mutex.
type file struct {
	owners map[*owner]struct{}
	waits  map[*waiter]struct{}
}

// openFile is an open file that somebody has asked for a lock through. Guarded by the table's mutex, but for atomic fields.
type openFile struct {
	owners  map[*owner]struct{} // of locks through it
	silent  bool                // see Open
	flushed atomic.Bool         // one of its descriptors was closed
	doubted int                 // how often a wait for its close was in vain
}

// idleMax is how many owners may keep their descriptor while they have no lock.
const idleMax = 1024

// New makes a table that uses at most so many descriptors. proc is one of /proc/self/fd.
func New(descriptors int64, proc int) *Table {
	return &Table{
		proc: proc, max: descriptors, stop: make(chan struct{}), owners: make(map[Owner]*owner),
		users: make(map[uint32]*user), waiting: make(map[uint64]map[*waiter]struct{}),
	}
}

// Request is a lock or an unlock that a caller asks for.
type Request struct {
	Owner
	Span     Span
	Open     Open
	PID, UID uint32
	Thread   uint32 // that asks and waits for the answer
}

// Open is the open file through which a request comes.
type Open struct {
	Number uint64
	FD     int  // of any kind, but not O_PATH
	Inode  int  // a descriptor of its inode
	Write  bool // opened for writing
	Silent bool // it may be closed without a word (Flushed) before Released
}

// try makes one attempt. EAGAIN says that another lock is in the way; then w (if not nil) is told when a lock of this daemon is released.
func (t *Table) try(r *Request, w *waiter) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwait(w)
	o, err := t.owner(r)
	if o == nil || err != nil {
		return err
	}
	t.through(o, &r.Open)
	if r.Span.Kind != unix.F_UNLCK {
		o.pid = r.PID
	}
	before := len(o.spans) > 0
	err = o.apply(r.Span, r.Open.Number)
	if before {
		t.wake(r.File)
	}
	if errors.Is(err, unix.EAGAIN) && w != nil {
		err = t.wait(w)
	} else if len(o.spans) == 0 && t.Count.Load() > idleMax {
		t.drop(o)
	}
	return err
}

// owner finds the owner of the lock, with a description that can do what is asked for. An unlock without a lock needs no owner.
func (t *Table) owner(r *Request) (*owner, error) {
	o := t.owners[r.Owner]
	if o != nil && o.reused(r) {
		t.drop(o)
		o = nil
	}
	if o == nil && r.Span.Kind == unix.F_UNLCK {
		return nil, nil
	}
	if o == nil {
		return t.newOwner(r)
	}
	if o.write || r.Flock || r.Span.Kind != unix.F_WRLCK {
		return o, nil
	}
	fd, err := t.openAgain(r.Open.Inode, true)
	if err == nil {
		if err = o.widen(fd); err != nil {
			_ = unix.Close(fd)
		}
	}
	return o, err
}

func (t *Table) newOwner(r *Request) (*owner, error) {
	u := t.users[r.UID]
	if u == nil {
		u = &user{uid: r.UID}
	}
	if t.Count.Load() >= t.max || int64(u.descriptors) >= t.max/2 && r.UID != 0 {
		return nil, unix.ENOLCK
	}
	fd, err := t.openAgain(r.Open.Inode, r.Open.Write)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nil, unix.ENOLCK
	}
	if err != nil {
		return nil, err
	}
	o := &owner{Owner: r.Owner, fd: fd, write: r.Open.Write, user: u, via: make(map[uint64]spans)}
	t.users[r.UID] = u
	u.descriptors++
	t.Count.Add(1)
	t.owners[r.Owner] = o
	t.file(r.File).owners[o] = struct{}{}
	return o, nil
}

// file is what the table knows of a file, from now on.
func (t *Table) file(number uint64) *file {
	if f := t.known(number); f != nil {
		return f
	}
	f := &file{owners: make(map[*owner]struct{}), waits: make(map[*waiter]struct{})}
	t.files.Store(number, f)
	return f
}

// known is what the table knows of a file; nil: nothing.
func (t *Table) known(number uint64) *file {
	f, ok := t.files.Load(number)
	if !ok {
		return nil
	}
	return f.(*file)
}

// forgetUnused forgets a file that nobody locks or waits for.
func (t *Table) forgetUnused(number uint64) {
	if f := t.known(number); f != nil && len(f.owners)+len(f.waits) == 0 {
		t.files.Delete(number)
	}
}

// open is what the table knows of an open file; nil: nothing.
func (t *Table) open(number uint64) *openFile {
	h, ok := t.opens.Load(number)
	if !ok {
		return nil
	}
	return h.(*openFile)
}

// through notes that an owner asks for locks through an open file.
func (t *Table) through(o *owner, via *Open) {
	if _, known := o.via[via.Number]; known {
		return
	}
	o.via[via.Number] = nil
	h := t.open(via.Number)
	if h == nil {
		h = &openFile{owners: make(map[*owner]struct{}), silent: via.Silent}
		t.opens.Store(via.Number, h)
		t.used.Add(1)
	}
	h.owners[o] = struct{}{}
}

// openAgain opens the backing file only for locks. It is opened for writing only if the caller has done so, because nobody can execute such
// a file meanwhile. O_APPEND is for append-only files (chattr +a).
func (t *Table) openAgain(inode int, write bool) (fd int, err error) {
	flags := unix.O_NONBLOCK | unix.O_NOATIME | unix.O_CLOEXEC
	if write {
		flags |= unix.O_RDWR | unix.O_APPEND
	}
	err = uninterrupted(func() (err error) {
		fd, err = unix.Openat(t.proc, strconv.Itoa(inode), flags, 0)
		return err
	})
	return fd, err
}

// drop ends an owner and all its locks.
func (t *Table) drop(o *owner) {
	delete(t.owners, o.Owner)
	for number := range o.via {
		if h := t.open(number); h != nil {
			delete(h.owners, o)
		}
	}
	delete(t.known(o.File).owners, o)
	t.Count.Add(-1)
	o.user.descriptors--
	o.user.spans -= len(o.spans)
	if o.user.descriptors == 0 {
		delete(t.users, o.user.uid)
	}
	_ = unix.Close(o.fd)
	t.wake(o.File)
	t.forgetUnused(o.File)
}

// Flushed says that a process has closed a descriptor of an open file. Then the process, of this number, has no fcntl
// lock on the file any more, through any descriptor.
func (t *Table) Flushed(open, file, number uint64) {
	if t.used.Load() == 0 {
		return
	}
	if h := t.open(open); h != nil {
		h.flushed.Store(true)
	}
	if t.known(file) == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owners[Owner{File: file, Number: number}]; o != nil {
		t.drop(o)
	}
}

// Released says that nobody has an open file any more. All who locked through it have closed it. That ends its flock, its open file
// description locks, and POSIX locks whose owner's close was not told (Flushed). Locks of the same number through another open file stay:
// the number may have been reused (owner.reused).
func (t *Table) Released(open uint64) {
	if t.used.Load() == 0 {
		return
	}
	h := t.open(open)
	if h == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, was := t.opens.LoadAndDelete(open); !was { // said before
		return
	}
	defer t.used.Add(-1) // once the locks are gone: Flushed does not wait for them without it
	for o := range h.owners {
		if len(o.via) == 1 || o.leave(open) != nil {
			t.drop(o)
			continue
		}
		t.wake(o.File)
	}
}

// Ending are the owners whose last open file this is: their locks end when it is released.
func (t *Table) Ending(open uint64) (ending []Owner) {
	h := t.open(open)
	if h == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for o := range h.owners {
		if len(o.via) == 1 {
			ending = append(ending, o.Owner)
		}
	}
	return ending
}

// holder finds who in this mount has a lock in the way of a span, except one owner. nil: nobody in this mount.
func (t *Table) holder(who Owner, want Span) *owner {
	f := t.known(who.File)
	if f == nil {
		return nil
	}
	for o := range f.owners {
		if o.Flock != who.Flock || o.Number == who.Number {
			continue
		}
		if o.spans.against(want) {
			return o
		}
	}
	return nil
}

// Test is F_GETLK: the first lock in the way, and the process that has it, if known. -1 stands for a description's lock, as natively.
func (t *Table) Test(r *Request) (found Span, pid uint32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd := r.Open.FD
	if o := t.owners[r.Owner]; o != nil {
		fd = o.fd
	}
	l := flockOf(r.Span)
	if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &l); err != nil {
		return Span{}, 0, err
	}
	if l.Type == unix.F_UNLCK {
		return Span{Kind: unix.F_UNLCK}, 0, nil
	}
	found = spanOf(l)
	if l.Pid > 0 {
		return found, uint32(l.Pid), nil
	}
	if o := t.holder(r.Owner, Span{max(found.Start, r.Span.Start), min(found.End, r.Span.End), r.Span.Kind}); o != nil {
		return found, o.pid, nil
	}
	return found, 0, nil
}

// Stop lets all waiters go: nobody asks any more.
func (t *Table) Stop() { close(t.stop) }

// Close closes all descriptors. Nothing may be served any more.
func (t *Table) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.owners {
		t.drop(o)
	}
}

// uninterrupted repeats a call that a signal interrupted. On file systems with interruptible
// calls, Go's own preemption signals interrupt them.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
