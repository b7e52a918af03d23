package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Enforcement is what becomes of the refusals of a mount. All guards of the mount and
// its file system share one, so that a switch is a single store: every decision is
// made under one mode or the other. Safe for concurrent use.
type Enforcement struct {
	now    atomic.Pointer[regime]
	turn   chan struct{} // capacity 1: one switch at a time
	clock  lease.Clock
	before []func(context.Context) error
	after  []func(context.Context) error

	frozen  atomic.Pointer[Freeze]
	waiting atomic.Int64 // mutations that wait
	onWait  func() (end func())
	rounds  rounds // callers that come again

	mu     sync.Mutex
	undone []*epoch // of former regimes that have not been seen to drain
}

// regime is one mode for as long as it lasts. What it alone lets through is counted
// in epochs of its own, so that the next one can wait for it.
type regime struct {
	mode     Enforce
	observed *epoch // let through although a decision was against it
	outside  *epoch // let through where no guard is asked
}

// NewEnforcement starts in a mode.
func NewEnforcement(mode Enforce) *Enforcement {
	s := &Enforcement{turn: make(chan struct{}, 1), clock: lease.SystemClock()}
	s.now.Store(newRegime(mode))
	return s
}

func newRegime(mode Enforce) *regime {
	return &regime{
		mode:     mode,
		observed: newEpoch(observedEpoch, lease.Holder{}, never, 0),
		outside:  newEpoch(observedEpoch, lease.Holder{}, never, 0),
	}
}

// Mode is the mode of now.
func (s *Enforcement) Mode() Enforce { return s.now.Load().mode }

// OnSwitch adds hooks of the file system. before runs under the old mode where the new
// one is stricter, so that the kernel can write back what was stored through mappings
// while that passes; after runs when everything has drained, and drops what the kernel
// believes. Must be called before the first Switch.
func (s *Enforcement) OnSwitch(before, after func(context.Context) error) {
	s.before, s.after = append(s.before, before), append(s.after, after)
}

// Outside decides about a mutation where no guard is asked; against is whether a rule
// forbids it. ok is false where it is refused, else Leave must follow. wouldRefuse is
// set where it passes only because the mount observes.
func (s *Enforcement) Outside(against bool) (p Pass, ok, wouldRefuse bool) {
	return s.OutsideOf(Request{}, against)
}

// OutsideOf is Outside for a request that may be made under a freeze, and may be called off.
func (s *Enforcement) OutsideOf(req Request, against bool) (p Pass, ok, wouldRefuse bool) {
	for {
		r := s.now.Load()
		if r.mode == ReadOnly || against && r.mode != Observing {
			return Pass{}, false, false
		}
		e := r.outside
		if against {
			e = r.observed
		}
		if !e.enter(s.clock) {
			continue
		}
		f := s.frozen.Load().bars(req.Through)
		if f == nil {
			return Pass{e: e}, true, against
		}
		e.leave()
		if !f.await(s, req) {
			return Pass{}, false, false
		}
	}
}

// strictness orders the modes by what they let through.
func (e Enforce) strictness() int {
	switch e {
	case Observing:
		return 0
	case ReadOnly:
		return 2
	}
	return 1
}

// StricterThan reports whether the mode refuses what the other lets through.
func (e Enforce) StricterThan(o Enforce) bool { return e.strictness() > o.strictness() }

// ErrUndrained says that a switch has taken effect, but that something which the mode
// before had let in was not seen to end.
var ErrUndrained = errors.New("mutations that were let in before the switch are still in flight")

// writeBackWait bounds the hooks that run before a switch: a store that hangs must not
// keep a mount from being made stricter.
const writeBackWait = 5 * time.Second

// Switch changes the mode. guards lists all guards that have been made; it is called
// after the new mode is in force. Without an error nothing is in flight any more, nor
// in the kernel's caches, that only the old mode let in, and under ReadOnly nothing at
// all. With [ErrUndrained] the new mode is in force, but that could not be waited for;
// calling again waits again. Any other error is that of ctx, and nothing has changed.
func (s *Enforcement) Switch(ctx context.Context, to Enforce, guards func() []*Guard) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	if ctx.Err() != nil && s.Mode().StricterThan(to) { // who asked has gone, and may have asked for something else since
		return fmt.Errorf("switch: %w", context.Cause(ctx))
	}
	s.replace(ctx, to)
	waiting := s.former()
	if to == ReadOnly {
		for _, g := range guards() {
			waiting = append(waiting, g.epochs()...)
		}
	}
	for _, e := range waiting {
		if err := e.drain(ctx); err != nil {
			return errors.Join(ErrUndrained, err)
		}
	}
	s.mu.Lock()
	s.undone = nil
	s.mu.Unlock()
	if err := run(ctx, s.after); err != nil {
		return errors.Join(ErrUndrained, err)
	}
	return nil
}

// begin waits for the turn; one that is free is had whatever ctx says.
func (s *Enforcement) begin(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another switch is under way: %w", context.Cause(ctx))
	}
}

// replace puts the new regime in force and ends what the old one alone let in.
func (s *Enforcement) replace(ctx context.Context, to Enforce) {
	old, next := s.now.Load(), newRegime(to)
	if old.mode == to {
		return
	}
	if to.StricterThan(old.mode) {
		brief, cancel := context.WithTimeout(ctx, writeBackWait)
		defer cancel()
		_ = run(brief, s.before) // what was not written back in time is judged by the new mode
	} else {
		next.outside = old.outside
	}
	if old.mode == ReadOnly {
		next.outside = newRegime(to).outside // nothing may enter the old one
	}
	s.now.Store(next)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range []*epoch{old.observed, old.outside} {
		if e != next.outside {
			e.close()
			s.undone = append(s.undone, e)
		}
	}
}

// former are the epochs of former regimes in which something may be in flight.
func (s *Enforcement) former() []*epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.undone)
}

// InFlight counts the mutations in flight that no worktree's own counter has: what was
// let in only by observing, and what no guard was asked about.
func (s *Enforcement) InFlight() int64 {
	r := s.now.Load()
	n := r.observed.inflight.Load() + r.outside.inflight.Load()
	for _, e := range s.former() {
		n += e.inflight.Load()
	}
	return n
}

func run(ctx context.Context, hooks []func(context.Context) error) error {
	for _, h := range hooks {
		if err := h(ctx); err != nil {
			return err
		}
	}
	return nil
}

// epochs are all in which the guard may have something in flight: of the lease's and of
// those without one a new one begins only after the one before has drained.
func (g *Guard) epochs() (all []*epoch) {
	for _, e := range []*epoch{g.last.Load(), g.lastFree.Load(), g.shared, g.exempt} {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}
