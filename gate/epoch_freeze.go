package gate

import (
	"context"
	"errors"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

var (
	errEpochOver     = errors.New("the lease ended meanwhile")
	errFrozenAlready = errors.New("the lease is being handed over already")
)

// Freeze makes the mutations of epoch t wait, for a bounded time. It returns when none is in
// flight, and when the holder's stores through mappings have been written. Nothing is in flight
// until thaw or Close. After an error nothing has changed. Source: [lease.Fence].
func (g *Guard) Freeze(ctx context.Context, t lease.Token) (thaw func(), err error) {
	e := g.open.Load()
	if e == nil || e.id != EpochOf(t) {
		return nil, errEpochOver
	}
	if err := g.yield(ctx); err != nil {
		return nil, err
	}
	s, err := e.freeze(ctx, g.patience)
	if err != nil {
		return nil, err
	}
	return func() { e.thaw(s) }, nil
}

// freeze makes mutations wait and returns when nothing is in flight. Nothing is until thaw or end.
// After an error everything goes on as before.
func (e *epoch) freeze(ctx context.Context, patience time.Duration) (*stop, error) {
	s := newStop(patience)
	if !e.stopped.CompareAndSwap(nil, s) {
		s.timer.Stop()
		if e.isOver() {
			return nil, errEpochOver
		}
		return nil, errFrozenAlready
	}
	if err := e.drain(ctx); err != nil {
		e.thaw(s)
		return nil, err
	}
	if e.stopped.Load() != s {
		return nil, errEpochOver
	}
	return s, nil
}

// thaw ends the freeze s: waiting mutations enter. It does not open an epoch that has ended, and it
// does not end another freeze.
func (e *epoch) thaw(s *stop) {
	if e.stopped.CompareAndSwap(s, nil) {
		s.decide()
	}
}

// frozen returns the freeze that is in force, or nil.
func (e *epoch) frozen() *stop {
	if s := e.stopped.Load(); s != nil && !s.ended {
		return s
	}
	return nil
}

// hasLapsed reports whether the freeze has lasted longer than mutations wait.
func (e *epoch) hasLapsed() bool {
	s := e.frozen()
	return s != nil && isClosed(s.lapsed)
}

// EpochFrozen reports whether handles of the epoch may write again if its lease is not handed over
// after all.
func (g *Guard) EpochFrozen(id Epoch) bool {
	e := g.open.Load()
	return e != nil && e.covers(id) && e.frozen() != nil
}

// into counts a mutation in. If the epoch is frozen it waits first. It returns why the mutation may
// not enter, or reasonNone.
func (g *Guard) into(e *epoch, r Request) Reason {
	for !e.enter(g.cfg.Clock) {
		switch s := e.stopped.Load(); {
		case s == nil && e.over(g.cfg.Clock.Boot()), s != nil && s.ended:
			return reasonExpired
		case s == nil: // it was thawed, or renewed at the last moment
		case !s.await(g.cfg.Enforcement, r):
			return reasonHandover
		}
	}
	return reasonNone
}
