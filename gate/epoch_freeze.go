package gate

import (
	"context"
	"errors"
	"time"

	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

var (
	errEpochOver     = errors.New("the lease ended meanwhile")
	errFrozenAlready = errors.New("the lease is being handed over already")
)

// freezePatience is how long mutations wait for a lease that is being handed over. It counts from
// the beginning of the freeze. It is bounded because the freeze may last for long, and a waiting
// mutation may have locks that every worktree needs.
const freezePatience = 5 * time.Second

// stop is why an epoch lets nothing in: it has ended, or it is frozen.
type stop struct {
	ended bool

	// Of a freeze.
	decided chan struct{} // closed when the epoch is thawed or ends
	lapses  time.Time     // when nothing waits for that any longer; zero: never
}

func newStop(patience time.Duration) *stop {
	s := &stop{decided: make(chan struct{})}
	if patience != never {
		s.lapses = time.Now().Add(patience)
	}
	return s
}

// left is how long mutations still wait for the end of a freeze.
func (s *stop) left() time.Duration {
	if s.lapses.IsZero() {
		return never
	}
	return time.Until(s.lapses)
}

// await waits for the end of a freeze. It gives up when the freeze has lapsed, too many wait, or
// the caller is being killed. It reports whether the freeze has ended.
func (s *stop) await(of *Enforcement, r Request) bool {
	of.limit.Until(r.waiter(), s.left(), nil, wait.On(s.decided))
	return wait.Happened(s.decided) // also if both have happened
}

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
		close(s.decided)
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
	return s != nil && s.left() <= 0
}

// EpochFrozen reports whether handles of the epoch may write again if its lease is not handed over
// after all.
func (f *fence) EpochFrozen(id Epoch) bool {
	e := f.open.Load()
	return e != nil && e.covers(id) && e.frozen() != nil
}

// into counts a mutation in. If the epoch is frozen it waits first. It returns why the mutation may
// not enter, or reasonNone.
func (a attempt) into(e *epoch) Reason {
	for !e.enter(a.cfg.Clock) {
		switch s := e.stopped.Load(); {
		case s == nil && e.over(a.cfg.Clock.Boot()), s != nil && s.ended:
			return reasonExpired
		case s == nil: // it was thawed, or renewed at the last moment
		case !s.await(a.cfg.Enforcement, a.Request):
			return reasonHandover
		}
	}
	return reasonNone
}
