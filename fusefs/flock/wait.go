package flock

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// waiter is a caller that waits for a lock. A release in this mount wakes it. Nobody tells of releases by native processes and other
// mounts, so it tries again and again: more rarely the longer it waits, and the more callers wait. It waits in a goroutine and keeps no
// thread and no reader.
type waiter struct {
	request *Request
	woken   chan struct{}
	ours    bool // a lock of this mount is in the way, and its release will wake it
	wakes   bool // a deadlock is answered
	every   time.Duration
}

const (
	pollFirst = time.Millisecond
	pollMax   = 32 * time.Millisecond
	// pollShare is the share of one waiter if many wait: together they try a thousand times a second at most.
	pollShare = time.Millisecond
	pollWorst = time.Second
	// closeGrace is how long to try for a lock whose owner may just have closed the file. The
	// kernel sends RELEASE before close(2) returns, but another reader may handle it later.
	closeGrace = 100 * time.Millisecond
)

func newWaiter(r *Request) *waiter {
	return &waiter{request: r, woken: make(chan struct{}, 1), every: pollFirst}
}

// wait enters a caller whose attempt has failed. EDEADLK: it would wait for itself.
func (t *Table) wait(w *waiter) error {
	who, want := w.request.Owner, w.request.Span
	w.ours = t.holder(who, want) != nil
	if w.wakes && !who.Flock && w.ours && t.circular(who, want, who.Number, map[uint64]bool{}) {
		return unix.EDEADLK
	}
	t.file(who.File).waits[w] = struct{}{}
	t.waits++
	if !who.Flock {
		if t.waiting[who.Number] == nil {
			t.waiting[who.Number] = make(map[*waiter]struct{})
		}
		t.waiting[who.Number][w] = struct{}{}
	}
	return unix.EAGAIN
}

// unwait removes a caller.
func (t *Table) unwait(w *waiter) {
	if w == nil {
		return
	}
	who := w.request.Owner
	f := t.known(who.File)
	if f == nil {
		return
	}
	if _, in := f.waits[w]; !in {
		return
	}
	delete(f.waits, w)
	t.forgetUnused(who.File)
	t.waits--
	if delete(t.waiting[who.Number], w); len(t.waiting[who.Number]) == 0 {
		delete(t.waiting, who.Number)
	}
}

// leave is unwait for a caller that gives up.
func (t *Table) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwait(w)
}

// wake wakes all who wait for locks of a file.
func (t *Table) wake(number uint64) {
	f := t.known(number)
	if f == nil {
		return
	}
	for w := range f.waits {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// circular reports whether the owners in the way of a lock wait for an owner, perhaps through other owners of this mount.
func (t *Table) circular(who Owner, want Span, number uint64, seen map[uint64]bool) bool {
	f := t.known(who.File)
	if f == nil {
		return false
	}
	for o := range f.owners {
		if o.Flock || o.Number == who.Number {
			continue
		}
		if !o.spans.against(want) {
			continue
		}
		if o.Number == number {
			return true
		}
		if seen[o.Number] {
			continue
		}
		seen[o.Number] = true
		for w := range t.waiting[o.Number] {
			if t.circular(w.request.Owner, w.request.Span, number, seen) {
				return true
			}
		}
	}
	return false
}

// next is when to try again; nil is never.
func (t *Table) next(w *waiter) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.ours {
		return nil
	}
	d := max(w.every, min(time.Duration(t.waits)*pollShare, pollWorst))
	w.every = min(w.every*2, pollMax)
	return time.After(d)
}

// Now makes one attempt. It is not done if the caller has to wait: SetWait is for whoever wants to (wait), Set for a close that is
// under way.
func (t *Table) Now(r *Request, wait bool) (done bool, err error) {
	err = t.try(r, nil)
	return !errors.Is(err, unix.EAGAIN) || !wait && t.closing(r) == 0, err
}

// Set takes or releases a lock (F_SETLK). It waits only for a close that is under way.
func (t *Table) Set(cancel <-chan struct{}, r *Request) error {
	if grace := t.closing(r); grace > 0 {
		return t.await(cancel, r, time.After(grace))
	}
	return t.try(r, nil)
}

// SetWait takes a lock as soon as it can be had (F_SETLKW).
func (t *Table) SetWait(cancel <-chan struct{}, r *Request) error { return t.await(cancel, r, nil) }

// GiveUp releases the lock that a request took.
func (t *Table) GiveUp(r Request) error {
	r.Span.Kind = unix.F_UNLCK
	return t.try(&r, nil)
}

// await tries until the lock can be had, the caller gives up, or the time is over.
func (t *Table) await(cancel <-chan struct{}, r *Request, over <-chan time.Time) error {
	w := newWaiter(r)
	w.wakes = over == nil
	defer t.leave(w)
	for {
		err := t.try(r, w)
		if errors.Is(err, unix.EDEADLK) && byDescription(r.Thread) {
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

// byDescription reports whether a thread asks for a lock of an open file description. The request does not say which kind it is. Threads
// may share a description, so a circle need not be a deadlock, and the kernel does not look for one.
func byDescription(thread uint32) bool {
	args := process.SystemCall(thread)
	if len(args) < 3 {
		return false
	}
	how, err := strconv.ParseInt(string(args[2]), 0, 64)
	return err == nil && (how == unix.F_OFD_SETLKW || how == unix.F_OFD_SETLK)
}

// closing returns how long to wait for the owner of the lock in the way, because it may be ending:
// a descriptor of its file was closed, or may have been closed without a word.
func (t *Table) closing(r *Request) (grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inTheWay(r, func(h *openFile) {
		if h.flushed.Load() || h.silent {
			grace = max(grace, closeGrace>>min(h.doubted, 10))
		}
	})
	return grace
}

// stayed notes that the owner did not end: others have the file open. The next wait is shorter.
func (t *Table) stayed(r *Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inTheWay(r, func(h *openFile) {
		h.flushed.Store(false)
		h.doubted++
	})
}

// inTheWay calls do for the open files of the owner of the lock in the way.
func (t *Table) inTheWay(r *Request, do func(*openFile)) {
	o := t.holder(r.Owner, r.Span)
	if o == nil {
		return
	}
	for number := range o.via {
		if h := t.open(number); h != nil {
			do(h)
		}
	}
}
