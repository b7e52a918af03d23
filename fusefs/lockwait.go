package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is a caller that waits for a lock. Who releases one in this mount wakes it;
// of those that native processes and other mounts release nobody tells, so it looks for
// them again and again, the more rarely the longer it takes and the more callers wait.
// It waits in a goroutine: no thread and no reader is kept.
type lockWait struct {
	request *lockRequest
	woken   chan struct{}
	ours    bool // somebody of this mount is in the way, and will wake it
	wakes   bool // a deadlock is answered
	every   time.Duration
}

const (
	lockPollFirst = time.Millisecond
	lockPollMax   = 32 * time.Millisecond
	// lockPollShare is the share of a waiter when many wait: together they look no more
	// than a thousand times a second.
	lockPollShare = time.Millisecond
	lockPollWorst = time.Second
	// closeGrace is how long a lock that cannot be had at once is tried when its owner may
	// just have closed the file: the kernel sends RELEASE before close(2) returns, but
	// another reader may be about to handle it.
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

// unwait takes a caller out again.
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

// leave is unwait for who gives up.
func (t *lockTable) leave(w *lockWait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwait(w)
}

// wake wakes who waits for locks of a node.
func (t *lockTable) wake(n *node) {
	for w := range n.locks.waits {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// circular reports whether those who are in the way of a lock wait, through any number
// of others of this mount, for an owner.
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

// next is when to look again by itself; nil is never.
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

// byDescription reports whether a thread asks for an open file description's lock. The
// kernel does not say in the request which kind it is. Threads may share a description,
// so that a circle need not be a deadlock, and the kernel looks for none.
func byDescription(thread uint32) bool {
	args := callOf(thread)
	if len(args) < 3 {
		return false
	}
	how, err := strconv.ParseInt(string(args[2]), 0, 64)
	return err == nil && (how == unix.F_OFD_SETLKW || how == unix.F_OFD_SETLK)
}

// callOf is the system call that a thread waits in: its number and arguments. A thread
// that has just asked may still be on its way to sleep.
func callOf(thread uint32) [][]byte {
	for pause := 50 * time.Microsecond; pause < time.Second; pause *= 2 { // on a busy machine it takes a while
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", thread))
		if err != nil {
			return nil
		}
		if args := bytes.Fields(text); len(args) != 1 || string(args[0]) != "running" {
			return args
		}
		time.Sleep(pause)
	}
	return nil
}

// closing reports for how long the owner of the lock that is in the way may be about to
// be gone: a descriptor of its file was closed, or may have been without a word.
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

// stayed notes that the owner was not about to be gone: others have the file open. It is
// counted on less the next time.
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
