package gate

import (
	"context"
	"errors"
)

// Freeze holds up whatever would be let in by some guards, or where no guard is asked,
// while a name that they hang on changes: a mutation that was judged by the one name has
// taken effect before, and one that comes is judged by the other.
//
// It is apart from the epochs, which may begin and end meanwhile. What enters is counted
// first and looks for a freeze afterwards, in every epoch, so that a freeze either sees
// it in a count or is seen.
type Freeze struct {
	*stop
	of     *Enforcement
	guards []*Guard
}

var errFrozen = errors.New("another name is being changed")

// Freeze makes mutations wait, for a bounded time, and returns when none is in flight.
// With an error everything goes on as before. Thaw must follow otherwise. What has the
// Freeze itself (Request.Through) is let in all the same.
func (s *Enforcement) Freeze(ctx context.Context, guards []*Guard) (*Freeze, error) {
	f := &Freeze{stop: newHold(holdPatience), of: s, guards: guards}
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

// Thaw lets go on what waits. It may be called again.
func (f *Freeze) Thaw() {
	for _, g := range f.guards {
		g.frozen.CompareAndSwap(f, nil)
	}
	f.of.frozen.CompareAndSwap(f, nil)
	if !isClosed(f.decided) {
		f.decide()
	}
}

// epochs are all in which something may be in flight that was let in before.
func (f *Freeze) epochs() []*epoch {
	r := f.of.now.Load()
	all := append(f.of.former(), r.observed, r.outside)
	for _, g := range f.guards {
		all = append(all, g.epochs()...)
	}
	return all
}

// bars returns the freeze if it keeps out who does not come through it, or nil.
func (f *Freeze) bars(through *Freeze) *Freeze {
	if f == through {
		return nil
	}
	return f
}

// thawed waits for the end of a freeze. The pass was counted in, and has been taken back.
func (g *Guard) thawed(f *Freeze, r Request) *Refusal {
	switch {
	case f.await(g.cfg.Enforcement, r):
		return nil
	case r.Killed():
		return g.killed(r)
	}
	no := g.refusal(r.Op, ReasonMoving, nil)
	no.Caller = r.Caller
	g.refusals.Add(1)
	g.note(no)
	return no
}
