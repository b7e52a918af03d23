package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// Enforcement decides what becomes of the refusals of a mount. All guards of the mount and its file
// system share one. So a switch is a single store, and every decision is made under one mode. Safe
// for concurrent use.
type Enforcement struct {
	now    atomic.Pointer[modeEpoch]
	turn   wait.Mutex // one switch at a time
	clock  lease.Clock
	before []func(context.Context) error
	after  []func(context.Context) error

	limit   wait.Limit // of the mutations that wait
	retries wait.Retries[*queued]

	frozen  atomic.Pointer[Freeze]
	windows atomic.Int64 // how many worktrees are quiesced

	mu     sync.Mutex
	undone []*epoch // of former mode epochs, not yet seen to drain
}

// modeEpoch is one mode while it lasts. What only this mode lets through is counted in epochs of its
// own. The next mode epoch can wait for them.
type modeEpoch struct {
	mode     Enforce
	observed *epoch // let through although the decision was no
	outside  *epoch // let through where there is no guard
}

// NewEnforcement starts in a mode.
func NewEnforcement(mode Enforce) *Enforcement {
	s := &Enforcement{turn: wait.NewMutex(), clock: lease.SystemClock()}
	s.now.Store(newModeEpoch(mode))
	return s
}

func newModeEpoch(mode Enforce) *modeEpoch {
	return &modeEpoch{
		mode:     mode,
		observed: newEpoch(observedEpoch, lease.Holder{}, never, 0),
		outside:  newEpoch(observedEpoch, lease.Holder{}, never, 0),
	}
}

// OnWait sets a hook, as wait.Limit.OnWait says.
func (s *Enforcement) OnWait(hook func() (end func())) { s.limit.OnWait(hook) }

// Waiting returns how many mutations wait.
func (s *Enforcement) Waiting() int64 { return s.limit.Waiting() }

// Mode returns the current mode.
func (s *Enforcement) Mode() Enforce { return s.now.Load().mode }

// OnSwitch adds hooks of the file system. before runs under the old mode, if the new one is
// stricter: the kernel can still write back what was stored through mappings. after runs when
// everything has drained: it drops the kernel's caches. OnSwitch must be called before the first
// Switch.
func (s *Enforcement) OnSwitch(before, after func(context.Context) error) {
	s.before, s.after = append(s.before, before), append(s.after, after)
}

// Outside decides about a mutation where there is no guard. against says whether a rule forbids it.
// If ok is false the mutation is refused; otherwise End must follow. wouldRefuse is true if it
// passes only because the mount observes.
func (s *Enforcement) Outside(against bool) (p Pass, ok, wouldRefuse bool) {
	return s.OutsideOf(Request{}, against)
}

// OutsideOf is Outside for a request that may come through a freeze, and whose caller may be
// killed.
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
		f := s.frozen.Load().bars(req)
		if f == nil {
			return Pass{e: e}, true, against
		}
		e.leave()
		if !f.await(s, req) {
			return Pass{}, false, false
		}
	}
}

// strictness orders the modes by what they refuse.
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

// ErrUndrained says that a switch has taken effect, but that mutations which the former mode let in
// may still be in flight.
var ErrUndrained = errors.New("mutations that were let in before the switch are still in flight")

// writeBackWait bounds the hooks that run before a switch. A store that hangs must not keep a mount
// from becoming stricter.
const writeBackWait = 5 * time.Second

// Switch changes the mode. guards lists all guards; it is called after the new mode is in force.
// Without an error nothing is in flight, nor in the kernel's caches, that only the old mode let in.
// Under ReadOnly nothing at all is in flight. With [ErrUndrained] the new mode is in force, but
// something may still be in flight; calling Switch again waits again. Any other error is that of
// ctx, and nothing has changed.
func (s *Enforcement) Switch(ctx context.Context, to Enforce, guards func() []*Guard) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.turn.Unlock()
	if ctx.Err() != nil && s.Mode().StricterThan(to) { // the caller has gone, and may have asked for another mode since
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

// begin waits for the turn. A free turn is taken even if ctx is done.
func (s *Enforcement) begin(ctx context.Context) error {
	if !s.turn.TryLock() && !s.turn.LockOr(ctx.Done()) {
		return fmt.Errorf("another switch is under way: %w", context.Cause(ctx))
	}
	return nil
}

// replace puts the new mode epoch in force. It ends the epochs that only the old one let in.
func (s *Enforcement) replace(ctx context.Context, to Enforce) {
	old, next := s.now.Load(), newModeEpoch(to)
	if old.mode == to {
		return
	}
	if to.StricterThan(old.mode) {
		brief, cancel := context.WithTimeout(ctx, writeBackWait)
		defer cancel()
		_ = run(brief, s.before) // what is written back later is judged by the new mode
	} else {
		next.outside = old.outside
	}
	if old.mode == ReadOnly {
		next.outside = newModeEpoch(to).outside // nothing may enter the old one
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

// former returns the epochs of former mode epochs that may have something in flight.
func (s *Enforcement) former() []*epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.undone)
}

// InFlight counts the mutations in flight that no worktree counts: those that only observing let
// in, and those where there is no guard.
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

// epochs returns all epochs in which the guard may have something in flight. There is at most one
// of a lease and one without a lease: a new one begins only after the former has drained.
func (f *fence) epochs() (all []*epoch) {
	for _, e := range []*epoch{f.last.Load(), f.lastFree.Load(), f.shared, f.exempt} {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}
