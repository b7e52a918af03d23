package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// What goes through the barrier.

// nameTurn is a turn at the names of locks, taken inside of the barrier.
type nameTurn struct {
	*tenure.Turn
	leave func()
}

// End ends the turn. It may be nil.
func (t *nameTurn) End(done bool) {
	if t == nil {
		return
	}
	t.Turn.End(done)
	t.leave()
}

// takeTurn takes the turn for a change of names (lockfiles.Policy.Turn) for who comes to the barrier.
func (f *rawFS) takeTurn(cancel <-chan struct{}, op gate.Op, h *fuse.InHeader, come []lockfiles.Name, goes ...lockfiles.Name) (*nameTurn, fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	leave, st := f.pass(atBarrier{op: op, h: h, signal: cancel, covered: func() *gate.LockFile {
		return f.rules.CoverOfNames(op, append(goes, come...))
	}})
	if st != fuse.OK {
		return nil, st
	}
	t, err := f.rules.Turn(cancel, op, callerID(h), come, goes)
	if st := f.answer(err); st != fuse.OK {
		leave()
		return nil, st
	}
	return &nameTurn{t, leave}, fuse.OK
}

// admitNodeIf is admitNodeInside for who comes to the barrier.
func (f *rawFS) admitNodeIf(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, n *node, may func() bool) (permit, fuse.Status) {
	if !f.ruled() {
		return f.admitNodeInside(signal, op, h, n, may)
	}
	leave, st := f.pass(atBarrier{op: op, h: h, signal: signal, covered: func() *gate.LockFile { return f.rules.CoverOfInode(op, n) }})
	if st != fuse.OK {
		return permit{}, st
	}
	return inside(leave)(f.admitNodeInside(signal, op, h, n, may))
}

// admitHandleAs is admitHandleInside. Where a file only grows, the end that a write is judged by is nobody else's to move: so such a
// write is through the barrier before another daemon leads (admitGrowth).
func (f *rawFS) admitHandleAs(as permit, h *fuse.InHeader, on *handle) (permit, fuse.Status) {
	if on.grows == nil || f.replaceBarrier.gone() {
		return f.admitHandleInside(as, h, on)
	}
	leave, st := f.pass(atBarrier{op: as.op, h: h, signal: as.signal, covered: func() *gate.LockFile {
		if f.replaceBarrier.gone() {
			return nil
		}
		return &gate.LockFile{Rule: on.grows.Name}
	}})
	if st != fuse.OK {
		return permit{}, st
	}
	return inside(leave)(f.admitHandleInside(as, h, on))
}

// inside has a permit leave the barrier with them.
func inside(leave func()) func(permit, fuse.Status) (permit, fuse.Status) {
	return func(p permit, st fuse.Status) (permit, fuse.Status) {
		if st != fuse.OK {
			leave()
			return p, st
		}
		p.barrier = leave
		return p, st
	}
}
