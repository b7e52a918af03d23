package fusefs

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// A daemon that is being replaced leaves what rules cover to the next one. From the first step on changes of names, and opens
// for writing, wait at the barrier if a rule covers them. Either it opens again, because the next daemon has not come up. Or
// the mount is gone from its place: then a call that goes by a path is sent round (ESTALE), and the kernel walks the path anew
// (retry_estale in fs/namei.c), which leads to the new mount. Who comes again has its working directory here, and is refused.
// What is written through open files passes: the book has lent their locks (gate/tenure/handover.go).

// replaceBarrier counts what it lets in. The zero value is open.
type replaceBarrier struct {
	state  atomic.Int32
	inside atomic.Int64

	mu    sync.Mutex
	moved chan struct{}      // closed when the state changes; may be nil
	left  chan struct{}      // capacity 1; may be nil
	sent  map[uint32]gate.Op // by thread, who was sent round
}

const (
	barrierOpen int32 = iota
	barrierShut
	barrierGone
)

const (
	// barrierWait bounds a wait there. A replacement takes less than a second.
	barrierWait = 10 * time.Second
	// sentMost bounds how many are known that were sent round. One that is forgotten is sent once more, and gets ESTALE.
	sentMost = 1024
)

// enter reports whether the barrier is open. Then leave must follow.
func (d *replaceBarrier) enter() bool {
	d.inside.Add(1) // counted first
	if d.state.Load() == barrierOpen {
		return true
	}
	d.leave()
	return false
}

func (d *replaceBarrier) leave() {
	if d.inside.Add(-1) > 0 || d.state.Load() == barrierOpen {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.left <- struct{}{}:
	default:
	}
}

// to changes the state, and wakes who waits for that.
func (d *replaceBarrier) to(state int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == nil {
		d.left = make(chan struct{}, 1)
	}
	if d.moved != nil {
		close(d.moved)
	}
	d.moved = make(chan struct{})
	d.state.Store(state)
}

// shut waits until all that it let in has left. After an error it is open.
func (d *replaceBarrier) shut(ctx context.Context) error {
	d.to(barrierShut)
	for d.inside.Load() > 0 {
		select {
		case <-d.left:
		case <-ctx.Done():
			d.to(barrierOpen)
			return ctx.Err()
		}
	}
	return nil
}

func (d *replaceBarrier) gone() bool { return d.state.Load() == barrierGone }

// sends reports whether a caller is sent round. It is once.
func (d *replaceBarrier) sends(tid uint32, op gate.Op) bool {
	if tid == 0 { // unknown, so it would not be recognised
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.sent[tid]; ok && was == op {
		delete(d.sent, tid)
		return false
	}
	if d.sent == nil || len(d.sent) >= sentMost {
		d.sent = make(map[uint32]gate.Op)
	}
	d.sent[tid] = op
	return true
}

// atBarrier is a request at the barrier.
type atBarrier struct {
	op      gate.Op
	h       *fuse.InHeader
	signal  <-chan struct{}
	covered func() *gate.LockFile // by which rule; nil: none covers it
}

// pass lets a request in, when it may. leave must follow then.
func (f *rawFS) pass(p atBarrier) (leave func(), st fuse.Status) {
	if f.replaceBarrier.enter() {
		return f.replaceBarrier.leave, fuse.OK
	}
	by := p.covered()
	for by != nil {
		switch {
		case f.replaceBarrier.enter():
			return f.replaceBarrier.leave, fuse.OK
		case f.replaceBarrier.gone():
			return func() {}, f.turnAway(p, by)
		}
		if st := f.waitAtBarrier(p, by); st != fuse.OK {
			return func() {}, st
		}
	}
	return func() {}, fuse.OK
}

// waitAtBarrier waits until the state of the barrier has changed.
func (f *rawFS) waitAtBarrier(p atBarrier, by *gate.LockFile) fuse.Status {
	f.replaceBarrier.mu.Lock()
	moved := f.replaceBarrier.moved
	f.replaceBarrier.mu.Unlock()
	if f.replaceBarrier.state.Load() != barrierShut {
		return fuse.OK
	}
	off, end := f.opts.Enforcement.Wait(gate.Request{Op: p.op, Caller: callerID(p.h), Signal: p.signal})
	defer end()
	select {
	case <-moved:
		return fuse.OK
	case <-off:
		return fuse.EINTR
	case <-time.After(barrierWait):
		return f.refuseUnlessObserving(gate.Refusal{Reason: gate.ReasonReplacing, Op: p.op, Caller: callerID(p.h), Lock: by})
	}
}

// turnAway is the answer when the mount is gone from its place.
func (f *rawFS) turnAway(p atBarrier, by *gate.LockFile) fuse.Status {
	if f.opts.Enforcement.Mode() != gate.Observing && goesByPath(p) && f.replaceBarrier.sends(p.h.Pid, p.op) {
		return fuse.Status(unix.ESTALE)
	}
	return f.refuseUnlessObserving(gate.Refusal{Reason: gate.ReasonReplaced, Op: p.op, Caller: callerID(p.h), Lock: by})
}

// goesByPath reports whether the kernel repeats the call. It does not repeat bind(2), nor what goes by a descriptor.
func goesByPath(p atBarrier) bool {
	switch p.op {
	case gate.OpMknod, gate.OpIoctl, gate.OpSetLk, gate.OpSetLkw:
		return false
	case gate.OpSetAttr, gate.OpSetXAttr, gate.OpRemoveXAttr:
		return !byFile(p.h.Pid)
	}
	return true
}

// byFile reports whether a thread changes the attributes of a file that it has open.
func byFile(thread uint32) bool {
	args := process.SystemCall(thread)
	if len(args) < 3 {
		return true
	}
	switch n, _ := strconv.Atoi(string(args[0])); n {
	case unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FTRUNCATE, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR:
		return true
	case unix.SYS_UTIMENSAT:
		return string(args[2]) == "0x0"
	}
	return false
}

// ShutRules keeps out what rules cover. It returns when nothing of that is in flight but through open files. After an error
// everything goes on as before; otherwise OpenRules or LeaveRules must follow.
func (s *Server) ShutRules(ctx context.Context) error { return s.fs.replaceBarrier.shut(ctx) }

// OpenRules is the end of ShutRules: this mount stays.
func (s *Server) OpenRules() { s.fs.replaceBarrier.to(barrierOpen) }

// LeaveRules is the end of ShutRules: another mount is in the place of this one.
func (s *Server) LeaveRules() { s.fs.replaceBarrier.to(barrierGone) }
