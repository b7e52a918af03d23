package gate

import (
	"context"
	"errors"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// holdPatience is how long mutations wait for a lease that is being handed over, counted
// from the beginning of the hold, whenever they come. What waits may have locks that every
// worktree needs; a hold lasts as long as its holder likes.
const holdPatience = 5 * time.Second

// stop is why an epoch lets nothing in: it has ended, or it is held up.
type stop struct {
	ended bool

	// Of a hold.
	decided chan struct{} // closed when the epoch goes on, or ends
	lapsed  chan struct{} // closed when nothing waits for that any longer
	timer   *time.Timer   // closes lapsed
}

func newHold(patience time.Duration) *stop {
	s := &stop{decided: make(chan struct{}), lapsed: make(chan struct{})}
	s.timer = time.AfterFunc(patience, func() { close(s.lapsed) })
	return s
}

// decide ends a hold.
func (s *stop) decide() {
	s.timer.Stop()
	close(s.decided)
}

// await waits for the end of a hold, if that comes in time, not too many wait and the
// caller lives. It reports whether it has come.
func (s *stop) await(of *Enforcement, r Request) bool {
	off := make(chan struct{})
	if end, ok := of.waits(r, func() { close(off) }); ok {
		select {
		case <-s.decided:
		case <-s.lapsed:
		case <-off:
		}
		end()
	}
	return isClosed(s.decided) // also when both have come
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var (
	errEpochOver = errors.New("the lease ended meanwhile")
	errHeldUp    = errors.New("the lease is being handed over already")
)

// Hold makes the mutations of epoch t wait, for a bounded time, and returns when none is
// in flight and what its holder has stored through mappings has been written. Nothing is
// in flight then until resume or Close. With an error nothing has changed: [lease.Fence].
func (g *Guard) Hold(ctx context.Context, t lease.Token) (resume func(), err error) {
	e := g.open.Load()
	if e == nil || e.id != EpochOf(t) {
		return nil, errEpochOver
	}
	if err := g.yield(ctx); err != nil {
		return nil, err
	}
	s, err := e.hold(ctx, g.patience)
	if err != nil {
		return nil, err
	}
	return func() { e.resume(s) }, nil
}

// hold makes what wants to enter wait, and returns when nothing is in flight:
// nothing is then until resume or end. With an error everything goes on as before.
func (e *epoch) hold(ctx context.Context, patience time.Duration) (*stop, error) {
	s := newHold(patience)
	if !e.stopped.CompareAndSwap(nil, s) {
		s.timer.Stop()
		if e.isOver() {
			return nil, errEpochOver
		}
		return nil, errHeldUp
	}
	if err := e.drain(ctx); err != nil {
		e.resume(s)
		return nil, err
	}
	if e.stopped.Load() != s {
		return nil, errEpochOver
	}
	return s, nil
}

// resume ends the hold s: what waits enters. An epoch that has ended stays so, and so
// does another hold.
func (e *epoch) resume(s *stop) {
	if e.stopped.CompareAndSwap(s, nil) {
		s.decide()
	}
}

// heldUp returns the hold that is in force, or nil.
func (e *epoch) heldUp() *stop {
	if s := e.stopped.Load(); s != nil && !s.ended {
		return s
	}
	return nil
}

// hasLapsed reports whether the epoch is held up for longer than anything waits.
func (e *epoch) hasLapsed() bool {
	s := e.heldUp()
	return s != nil && isClosed(s.lapsed)
}

// HeldUp reports whether handles of the epoch may write again when its lease has not been
// handed over after all.
func (g *Guard) HeldUp(id Epoch) bool {
	e := g.open.Load()
	return e != nil && e.id == id && e.heldUp() != nil
}

// into counts a mutation in, after it has waited where the epoch is held up, or says
// why not.
func (g *Guard) into(e *epoch, r Request) Reason {
	for !e.enter(g.cfg.Clock) {
		switch s := e.stopped.Load(); {
		case s == nil && e.over(g.cfg.Clock.Boot()), s != nil && s.ended:
			return ReasonExpired
		case s == nil: // it was held up and goes on, or it was renewed at the last moment
		case !s.await(g.cfg.Enforcement, r):
			return ReasonHeldUp
		}
	}
	return ReasonNone
}
