package gate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func freeze(t *testing.T, s switching) *Freeze {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	f, err := s.mode.Freeze(ctx, s.guards())
	require.NoError(t, err)
	t.Cleanup(f.Thaw)
	return f
}

// A freeze waits for everything that a guard has let in, or that passed without one, and nothing
// follows.
func TestAFreezeWaitsForWhatIsInFlight(t *testing.T) {
	exempt := mustExempt(t, false, "cache/**")
	for name, c := range map[string]struct {
		from   Enforce
		change func(*GuardConfig)
		held   bool
		enter  func(switching, *Freeze) (Pass, bool)
	}{
		"under a lease": {held: true, enter: byRequest(byUser(7))},
		"without one":   {change: func(c *GuardConfig) { c.OnFree = AllowOnFree }, enter: byRequest(byUser(8))},
		"shared":        {change: func(c *GuardConfig) { c.Mode = Shared }, enter: byRequest(byUser(8))},
		"by its place": {held: true, change: func(c *GuardConfig) { c.Exempt = exempt },
			enter: byRequest(Request{Op: OpWrite, Caller: process.Caller{TID: 1, UID: 8}, At: inCache()})},
		"a mapping by its place": {change: func(c *GuardConfig) { c.Exempt = exempt },
			enter: func(s switching, through *Freeze) (Pass, bool) {
				return s.Exempted(Request{Op: OpWrite, Epoch: ByPlace, At: inCache(), Through: through})
			}},
		"observed": {from: Observing, enter: byRequest(byUser(8))},
		"outside": {enter: func(s switching, through *Freeze) (Pass, bool) {
			p, ok, _ := s.mode.OutsideOf(Request{Through: through}, false)
			return p, ok
		}},
		"outside, observed": {from: Observing, enter: func(s switching, through *Freeze) (Pass, bool) {
			p, ok, _ := s.mode.OutsideOf(Request{Through: through}, true)
			return p, ok
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := c.from
				if from == "" {
					from = Enforcing
				}
				s := newSwitching(t, from, c.change)
				if c.held {
					s.k.give(userHolder(7, "7"))
				}
				p, ok := c.enter(s, nil)
				require.True(t, ok)
				brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				_, err := s.mode.Freeze(brief, s.guards())
				require.ErrorIs(t, err, context.DeadlineExceeded)
				q, ok := c.enter(s, nil)
				require.True(t, ok, "it goes on as before")
				q.End()

				done := make(chan *Freeze, 1)
				go func() {
					f, err := s.mode.Freeze(t.Context(), s.guards())
					if err != nil {
						f = nil
					}
					done <- f
				}()
				require.Eventually(t, func() bool { return s.frozen.Load() != nil }, eventually, tick)
				mustWait(t, done)
				p.End()
				f := <-done
				require.NotNil(t, f)
				later := make(chan bool, 1)
				go func() { p, ok := c.enter(s, nil); p.End(); later <- ok }()
				p, ok = c.enter(s, f)
				require.True(t, ok, "who has frozen it gets through")
				p.End()
				mustWait(t, later)
				f.Thaw()
				require.True(t, <-later)
			})
		})
	}
}

func byRequest(r Request) func(switching, *Freeze) (Pass, bool) {
	return func(s switching, through *Freeze) (Pass, bool) {
		r := r
		r.Through = through
		if r.At != nil {
			r.At = inCache() // of one request
		}
		p, no := s.Enter(r)
		return p, no == nil
	}
}

// A mutation that is being judged is counted already, or sees the freeze.
func TestAMutationIsCountedBeforeItLooksForAFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slowClock{clock: &clock{}}
		s := newSwitching(t, Enforcing, func(g *GuardConfig) { g.Clock = c })
		tok := s.k.give(userHolder(7, "7"))
		frozen := make(chan *Freeze, 1)
		c.meanwhile = func() {
			go func() { f, _ := s.mode.Freeze(context.Background(), s.guards()); frozen <- f }()
			require.Eventually(t, func() bool { return s.frozen.Load() != nil }, eventually, tick)
			synctest.Wait()
			select {
			case <-frozen:
				t.Error("it was not counted")
			default:
			}
		}
		done := enterInBackground(t, s.Guard, write(EpochOf(tok)))
		f := <-frozen
		mustWait(t, done)
		f.Thaw()
		require.Nil(t, <-done)
	})
}

// A lease that is taken meanwhile lets nobody in, either.
func TestAFreezeHoldsWhileALeaseIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSwitching(t, Enforcing, nil)
		first := s.k.give(userHolder(7, "7"))
		f := freeze(t, s)
		s.k.lose(lease.LossReleased, first, userHolder(7, "7"))
		second := s.k.give(userHolder(8, "8"))
		done := enterInBackground(t, s.Guard, byUser(8))
		mustWait(t, done)
		p, no := s.Enter(Request{Op: OpRename, Caller: process.Caller{TID: 1, UID: 8}, Through: f})
		require.Nil(t, no)
		p.End()
		f.Thaw()
		require.Nil(t, <-done)
		require.NotEqual(t, first, second)
	})
}

// Nobody waits longer than for a handover, and the refusal says why.
func TestAMutationThatWaitsForAFreezeGivesUpInTime(t *testing.T) {
	for _, from := range []Enforce{Enforcing, Observing} {
		s := newSwitching(t, from, nil)
		s.k.give(userHolder(7, "7"))
		f := freeze(t, s)
		f.lapses = time.Now()
		_, no := s.Enter(byUser(7))
		require.NotNil(t, no)
		require.Equal(t, reasonMoving, no.Reason)
		_, no = s.Enter(byUser(8))
		require.NotNil(t, no, "observing is no way through")
		_, ok, _ := s.mode.Outside(false)
		require.False(t, ok)
		f.Thaw()
		mustEnter(t, s.Guard, byUser(7)).End()
	}
}

func TestOneFreezeAtATime(t *testing.T) {
	s := newSwitching(t, Enforcing, nil)
	f := freeze(t, s)
	_, err := s.mode.Freeze(t.Context(), s.guards())
	require.ErrorIs(t, err, errFrozen)
	require.Same(t, f, s.frozen.Load(), "the failure has left the first one alone")
	require.Same(t, f, s.mode.frozen.Load())
	f.Thaw()
	freeze(t, s).Thaw()
}
