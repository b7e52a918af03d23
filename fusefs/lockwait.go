package fusefs

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// lockWait is a caller that waits for a lock. A release in this mount wakes it. Nobody tells of
// releases by native processes and other mounts, so it tries again and again: more rarely the
// longer it waits, and the more callers wait. It waits in a goroutine and keeps no thread and no
// reader.
type lockWait struct {
	request *lockRequest
	woken   chan struct{}
	ours    bool // a lock of this mount is in the way, and its release will wake it
	wakes   bool // a deadlock is answered
	every   time.Duration
}

const (
	lockPollFirst = time.Millisecond
	lockPollMax   = 32 * time.Millisecond
	// lockPollShare is the share of one waiter if many wait: together they try a thousand times a
	// second at most.
	lockPollShare = time.Millisecond
	lockPollWorst = time.Second
	// closeGrace is how long to try for a lock whose owner may just have closed the file. The
	// kernel sends RELEASE before close(2) returns, but another reader may handle it later.
	closeGrace = 100 * time.Millisecond
)

func newLockWait(r *lockRequest) *lockWait {
	return &lockWait{request: r, woken: make(chan struct{}, 1), every: lockPollFirst}
}

// wait enters a caller whose attempt has failed. EDEADLK: it would wait for itself.
func (t *lockTable) wait(w *lockWait) error {
	k := w.request.key
	w.ours = t.holder(k, w.request.span) != nil
	if w.wakes && !k.flock && w.ours && t.circular(k, w.request.span, k.owner, map[uint64]bool{}) {
		return unix.EDEADLK
	}
	n := &k.node.locks
	if n.waits == nil {
		n.waits = make(map[*lockWait]struct{})
	}
	n.waits[w] = struct{}{}
	t.waits++
	if !k.flock {
		if t.waiting[k.owner] == nil {
			t.waiting[k.owner] = make(map[*lockWait]struct{})
		}
		t.waiting[k.owner][w] = struct{}{}
	}
	return unix.EAGAIN
}

// unwait removes a caller.
func (t *lockTable) unwait(w *lockWait) {
	if w == nil {
		return
	}
	k := w.request.key
	if _, in := k.node.locks.waits[w]; !in {
		return
	}
	delete(k.node.locks.waits, w)
	t.waits--
	if delete(t.waiting[k.owner], w); len(t.waiting[k.owner]) == 0 {
		delete(t.waiting, k.owner)
	}
}

// leave is unwait for a caller that gives up.
func (t *lockTable) leave(w *lockWait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwait(w)
}

// wake wakes all who wait for locks of a node.
func (t *lockTable) wake(n *node) {
	for w := range n.locks.waits {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// circular reports whether the owners in the way of a lock wait for an owner, perhaps through other
// owners of this mount.
func (t *lockTable) circular(k lockKey, want lockSpan, owner uint64, seen map[uint64]bool) bool {
	for o := range k.node.locks.owners {
		if o.key.flock || o.key.owner == k.owner {
			continue
		}
		if !o.spans.against(want) {
			continue
		}
		if o.key.owner == owner {
			return true
		}
		if seen[o.key.owner] {
			continue
		}
		seen[o.key.owner] = true
		for w := range t.waiting[o.key.owner] {
			if t.circular(w.request.key, w.request.span, owner, seen) {
				return true
			}
		}
	}
	return false
}

// next is when to try again; nil is never.
func (t *lockTable) next(w *lockWait) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.ours {
		return nil
	}
	d := max(w.every, min(time.Duration(t.waits)*lockPollShare, lockPollWorst))
	w.every = min(w.every*2, lockPollMax)
	return time.After(d)
}

// await tries until the lock can be had, the caller gives up, or the time is over.
func (f *rawFS) await(cancel <-chan struct{}, r *lockRequest, over <-chan time.Time) error {
	t, w := f.locks, newLockWait(r)
	w.wakes = over == nil
	defer t.leave(w)
	for {
		err := t.try(f, r, w)
		if errors.Is(err, unix.EDEADLK) && byDescription(r.thread) {
			w.wakes = false // as natively
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		select {
		case <-w.woken:
		case <-t.next(w):
		case <-over:
			t.stayed(r)
			return unix.EAGAIN
		case <-cancel:
			return unix.EINTR
		case <-t.stop:
			return unix.EINTR
		}
	}
}

// byDescription reports whether a thread asks for a lock of an open file description. The request
// does not say which kind it is. Threads may share a description, so a circle need not be a
// deadlock, and the kernel does not look for one.
func byDescription(thread uint32) bool {
	args := process.SystemCall(thread)
	if len(args) < 3 {
		return false
	}
	how, err := strconv.ParseInt(string(args[2]), 0, 64)
	return err == nil && (how == unix.F_OFD_SETLKW || how == unix.F_OFD_SETLK)
}

// closing returns how long to wait for the owner of the lock in the way, because it may be ending:
// a descriptor of its file was closed, or may have been closed without a FLUSH.
func (t *lockTable) closing(r *lockRequest) (grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.holder(r.key, r.span); o != nil {
		for h := range o.via {
			if h.flushed.Load() || h.unflushed {
				grace = max(grace, closeGrace>>min(h.doubted, 10))
			}
		}
	}
	return grace
}

// stayed notes that the owner did not end: others have the file open. The next wait is shorter.
func (t *lockTable) stayed(r *lockRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.holder(r.key, r.span); o != nil {
		for h := range o.via {
			h.flushed.Store(false)
			h.doubted++
		}
	}
}
