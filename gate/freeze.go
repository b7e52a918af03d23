package gate

import (
	"context"
	"errors"

	"github.com/jvsfs/jvsfs/gate/wait"
)

// Freeze makes every mutation wait that some guards would let in, or that would pass where there is
// no guard, while a name that guards hang on changes. A mutation that was judged by the old name
// has taken effect before. One that comes later is judged by the new name.
//
// It is independent of epochs, which may begin and end meanwhile. What enters is counted first and
// looks for a freeze afterwards, in every epoch. So a freeze sees it in a count, or it sees the
// freeze.
type Freeze struct {
	*stop
	of     *Enforcement
	guards []*Guard
	window *Window // of a snapshot; nil while a name changes
}

var errFrozen = errors.New("another name is being changed")

// Freeze makes mutations wait, for a bounded time, and returns when none is in flight. After an
// error everything goes on as before; otherwise Thaw must follow. Mutations that come through the
// Freeze itself (Request.Through) are let in.
func (s *Enforcement) Freeze(ctx context.Context, guards []*Guard) (*Freeze, error) {
	f := &Freeze{stop: newStop(freezePatience), of: s, guards: guards}
	if !f.begin() {
		f.Thaw()
		return nil, errFrozen
	}
	for _, e := range f.epochs() {
		if err := e.drain(ctx); err != nil {
			f.Thaw()
			return nil, err
		}
	}
	return f, nil
}

func (f *Freeze) begin() bool {
	if !f.of.frozen.CompareAndSwap(nil, f) {
		return false
	}
	for _, g := range f.guards {
		if !g.frozen.CompareAndSwap(nil, f) && g.frozen.Load() != f {
			return false
		}
	}
	return true
}

// Thaw lets the waiting mutations go on. It may be called again.
func (f *Freeze) Thaw() {
	for _, g := range f.guards {
		g.frozen.CompareAndSwap(f, nil)
	}
	f.of.frozen.CompareAndSwap(f, nil)
	if !wait.Happened(f.decided) {
		close(f.decided)
	}
}

// epochs returns all epochs in which something may be in flight that was let in before.
func (f *Freeze) epochs() []*epoch {
	r := f.of.now.Load()
	all := append(f.of.former(), r.observed, r.outside)
	for _, g := range f.guards {
		all = append(all, g.epochs()...)
	}
	return all
}

// bars returns the freeze, or nil for a mutation that comes through it.
func (f *Freeze) bars(r Request) *Freeze {
	if f == r.Through || f != nil && f.window != nil && f.window.admits(r) {
		return nil
	}
	return f
}

// waits waits for the end of the freeze. It reports whether to decide again.
func (f *Freeze) waits(r Request) bool {
	if f.window != nil {
		return f.window.waits(f, r)
	}
	return f.await(f.of, r)
}

// thawed waits for the end of a freeze. The mutation had been counted in, and was taken back.
func (a attempt) thawed(f *Freeze) *Refusal {
	if f.window != nil && a.EstaleRetry && a.sendForWindow(f) {
		return a.estaleRetry()
	}
	why := reasonMoving
	switch {
	case f.waits(a.Request):
		return nil
	case a.Killed():
		return a.killed()
	case f.window != nil && f.window.isOwn(a.Caller):
		why = reasonQuiescing
	case f.window != nil:
		why = reasonQuiesced
	}
	no := a.refusal(a.Op, why, nil)
	no.Caller = a.Caller
	a.refusals.Add(1)
	a.note(no)
	return no
}
