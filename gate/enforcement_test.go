package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// switching is a guard with the mode of its mount.
type switching struct {
	*Guard
	mode *Enforcement
	k    *keeper
}

func newSwitching(t *testing.T, from Enforce, change func(*GuardConfig)) switching {
	t.Helper()
	mode := NewEnforcement(from)
	g, k, _ := newTestGuard(t, func(c *GuardConfig) {
		c.Enforcement = mode
		if change != nil {
			change(c)
		}
	})
	return switching{g, mode, k}
}

func (s switching) guards() []*Guard { return []*Guard{s.Guard} }

func (s switching) to(t *testing.T, mode Enforce) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	require.NoError(t, s.mode.Switch(ctx, mode, s.guards))
	require.Equal(t, mode, s.mode.Mode())
	require.Equal(t, mode, s.Status().Enforce)
}

// begin starts a switch. The channel gets its error when it has returned.
func (s switching) begin(t *testing.T, mode Enforce) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.mode.Switch(context.Background(), mode, s.guards) }()
	require.Eventually(t, func() bool { return s.mode.Mode() == mode }, eventually, tick)
	return done
}

func TestObserveModeDecidesAsEnforceAndSaysSo(t *testing.T) {
	var told []*Refusal
	s := newSwitching(t, Observing, func(c *GuardConfig) { c.OnRefusal = func(no *Refusal) { told = append(told, no) } })
	s.k.give(userHolder(7, "7"))
	mustEnter(t, s.Guard, byUser(7)).End()
	p := mustEnter(t, s.Guard, byUser(8))
	p.End()
	mustEnter(t, s.Guard, write(p.Epoch())).End()
	require.Len(t, told, 2)
	require.Equal(t, ReasonHeldByOther, told[0].Reason)
	require.Equal(t, reasonObservedHandle, told[1].Reason)
	require.True(t, told[0].Observed)
	st := s.Status()
	require.EqualValues(t, 1, st.Writes)
	require.EqualValues(t, 2, st.WouldRefuse)
	require.Zero(t, st.Refusals)
	require.Empty(t, s.Refused(), "what was let through is no refusal of any class")
	require.Contains(t, st.LastRefusals[0], "Create would be refused: E_LOCK_CONFLICT")
	require.True(t, s.Current(p.Epoch()))

	s.to(t, Enforcing)
	require.False(t, mustRefuse(t, s.Guard, byUser(8), ReasonHeldByOther).Observed)
	require.NotContains(t, s.Status().LastRefusals[2], "would")
	require.Len(t, s.Refused(), 1)
	mustRefuse(t, s.Guard, write(p.Epoch()), reasonObservedHandle)
	require.False(t, s.Current(p.Epoch()), "a handle that was opened without the lease is stale once refusals count")
}

func TestASwitchToEnforceWaitsForWritesThatOnlyObserveLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, to := range []Enforce{Enforcing, ReadOnly} {
			s := newSwitching(t, Observing, nil)
			p := mustEnter(t, s.Guard, byUser(8))
			done := s.begin(t, to)
			mustRefuse(t, s.Guard, byUser(8), map[Enforce]Reason{Enforcing: ReasonFree, ReadOnly: ReasonReadOnly}[to])
			mustWait(t, done)
			p.End()
			require.NoError(t, <-done)
		}
	})
}

// When refusals begin to count, the holder's own mutations go on. When nobody may write, they are
// waited for.
func TestReadOnlyWaitsForTheHolderAndKeepsTheLease(t *testing.T) {
	for name, change := range map[string]func(*GuardConfig){
		"held":   nil,
		"free":   func(c *GuardConfig) { c.OnFree = AllowOnFree },
		"shared": func(c *GuardConfig) { c.Mode = Shared },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSwitching(t, Observing, change)
				if name == "held" {
					s.k.give(userHolder(7, "7"))
				}
				p := mustEnter(t, s.Guard, byUser(7))
				s.to(t, Enforcing)
				done := s.begin(t, ReadOnly)
				mustRefuse(t, s.Guard, byUser(7), ReasonReadOnly)
				mustRefuse(t, s.Guard, write(p.Epoch()), ReasonReadOnly)
				mustWait(t, done)
				p.End()
				require.NoError(t, <-done)
				require.Equal(t, name == "held", s.open.Load() != nil)
				s.to(t, Enforcing)
				mustEnter(t, s.Guard, write(p.Epoch())).End()
			})
		})
	}
}

// A close that is draining when the mount becomes read-only is waited for, too.
func TestReadOnlyWaitsForAClosingEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSwitching(t, Enforcing, nil)
		tok := s.k.give(mountHolder("a"))
		p := mustEnter(t, s.Guard, write(EpochOf(tok)))
		closed := make(chan struct{})
		go func() { s.k.lose(lease.LossExpired, tok, mountHolder("a")); close(closed) }()
		require.Eventually(t, func() bool { return s.open.Load() == nil }, eventually, tick)
		done := s.begin(t, ReadOnly)
		mustWait(t, done)
		p.End()
		require.NoError(t, <-done)
		<-closed
	})
}

// A write without a lease hangs while a lease is granted. Another one, which was decided before the
// grant, comes meanwhile. The first must not be forgotten.
func TestReadOnlyWaitsForWhatIsWrittenWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSwitching(t, Enforcing, func(c *GuardConfig) { c.OnFree = AllowOnFree })
		p := mustEnter(t, s.Guard, byUser(7))
		free, opened := s.free.Load(), make(chan struct{})
		go func() { s.Open(lease.Grant{Token: 1, Holder: userHolder(8, "8")}); close(opened) }()
		require.Eventually(t, free.isOver, eventually, tick)
		_, ok := attempt{s.Guard, Request{}, Enforcing}.enterFree()
		require.False(t, ok)
		require.Contains(t, s.epochs(), free)
		done := s.begin(t, ReadOnly)
		mustWait(t, done)
		require.False(t, s.Current(p.Epoch()), "a handle of it is refused from now on")
		p.End()
		require.NoError(t, <-done)
		<-opened
	})
}

// The epoch of writes without a lease is known to everybody who waits for epochs before a write can
// enter it.
func TestAnEpochWithoutALeaseIsKnownBeforeAnyWriteEntersIt(t *testing.T) {
	guards := make([]Guard, 40_000)
	go func() {
		for i := range guards {
			guards[i].freeEpoch()
		}
	}()
	for i := range guards {
		for guards[i].free.Load() == nil { // no pause: the moment that is looked for is short
		}
		if guards[i].lastFree.Load() == nil {
			t.Fatal("a switch to readonly would not wait for what enters now")
		}
	}
}

// A mutation that was decided under one mode and is counted under the next is decided again: nobody
// has waited for it.
func TestAMutationIsDecidedAgainWhenTheModeChanged(t *testing.T) {
	for name, c := range map[string]struct {
		from, to Enforce
		caller   uint32
		why      Reason
	}{
		"the holder's": {Enforcing, ReadOnly, 7, ReasonReadOnly},
		"a stranger's": {Observing, Enforcing, 8, ReasonHeldByOther},
	} {
		t.Run(name, func(t *testing.T) {
			slow := &slowClock{}
			s := newSwitching(t, c.from, func(cfg *GuardConfig) { slow.clock = cfg.Clock.(*clock); cfg.Clock = slow })
			s.k.give(userHolder(7, "7"))
			slow.meanwhile = func() { s.to(t, c.to) } // while facts are gathered, when nothing is in flight
			mustRefuse(t, s.Guard, byUser(c.caller), c.why)
			require.Nil(t, slow.meanwhile)
			require.Zero(t, s.mode.InFlight())
		})
	}
}

func TestASwitchToALooserModeWaitsForNobody(t *testing.T) {
	s := newSwitching(t, Enforcing, nil)
	s.k.give(userHolder(7, "7"))
	p := mustEnter(t, s.Guard, byUser(7))
	defer p.End()
	s.to(t, Observing)
	mustEnter(t, s.Guard, byUser(8)).End()
}

// If something does not end in time the switch says so. Whoever asks again waits again. The new
// mode is in force meanwhile.
func TestASwitchGivesUpWaiting(t *testing.T) {
	s := newSwitching(t, Observing, nil)
	p := mustEnter(t, s.Guard, byUser(8))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.mode.Switch(ctx, Enforcing, s.guards), ErrUndrained)
	mustRefuse(t, s.Guard, byUser(8), ReasonFree)
	require.ErrorIs(t, s.mode.Switch(ctx, Enforcing, s.guards), ErrUndrained)
	p.End()
	s.to(t, Enforcing)
}

func TestASwitchOfAClientThatHasGoneChangesNothing(t *testing.T) {
	s := newSwitching(t, Enforcing, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.mode.Switch(ctx, Observing, s.guards), context.Canceled)
	mustRefuse(t, s.Guard, byUser(8), ReasonFree)
}

func TestASwitchCallsItsHooksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSwitching(t, Observing, nil)
		p := mustEnter(t, s.Guard, byUser(8))
		var left atomic.Bool
		var seen []string
		s.mode.OnSwitch(func(context.Context) error {
			q, no := s.Enter(byUser(9)) // what was stored through mappings still lands
			q.End()
			seen = append(seen, "before, refused: "+map[bool]string{true: "no", false: "yes"}[no == nil])
			return nil
		}, func(context.Context) error {
			_, no := s.Enter(byUser(9))
			seen = append(seen, "after, drained: "+map[bool]string{true: "yes", false: "no"}[left.Load() && no != nil])
			return nil
		})
		done := s.begin(t, Enforcing)
		mustWait(t, done)
		left.Store(true)
		p.End()
		require.NoError(t, <-done)
		require.Equal(t, []string{"before, refused: no", "after, drained: yes"}, seen)
	})
}

func TestOutsideOfWorktreesTheModeAloneDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := NewEnforcement(Enforcing)
		none := func() []*Guard { return nil }
		p, ok, would := mode.Outside(false)
		require.True(t, ok)
		require.False(t, would)
		_, ok, _ = mode.Outside(true)
		require.False(t, ok)
		require.NoError(t, mode.Switch(t.Context(), Observing, none))
		q, ok, would := mode.Outside(true)
		require.True(t, ok)
		require.True(t, would)
		q.End()

		done := make(chan error, 1)
		go func() { done <- mode.Switch(context.Background(), ReadOnly, none) }()
		require.Eventually(t, func() bool { return mode.Mode() == ReadOnly }, eventually, tick)
		_, ok, _ = mode.Outside(false)
		require.False(t, ok)
		mustWait(t, done)
		p.End()
		require.NoError(t, <-done)

		require.NoError(t, mode.Switch(t.Context(), Enforcing, none))
		p, ok, _ = mode.Outside(false)
		require.True(t, ok)
		p.End()
	})
}

func TestARefusalThatTheCallerFoundIsObservedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSwitching(t, Observing, nil)
		p, no := s.RefuseStore(ReasonStaleMapping)
		require.Nil(t, no)
		done := s.begin(t, Enforcing)
		mustWait(t, done)
		p.End()
		require.NoError(t, <-done)
		_, no = s.RefuseStore(ReasonStaleMapping)
		require.NotNil(t, no)
		require.EqualValues(t, 1, s.Status().WouldRefuse)
		require.EqualValues(t, 1, s.Status().Refusals)
	})
}

// Many writers against one who switches modes: after a switch has returned nobody has a pass that
// the mode does not give.
func TestNothingIsInFlightAfterASwitch(t *testing.T) {
	s := newSwitching(t, Observing, nil)
	tok := s.k.give(userHolder(7, "7"))
	var strangers, holders atomic.Int64 // passes that are held
	stop := make(chan struct{})
	var wg sync.WaitGroup
	loop := func(r Request, held *atomic.Int64) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if p, no := s.Enter(r); no == nil {
				held.Add(1)
				held.Add(-1)
				p.End()
			}
		}
	}
	for range 2 {
		wg.Go(func() { loop(byUser(8), &strangers) })
		wg.Go(func() { loop(write(EpochOf(tok)), &holders) })
	}
	for range 20 {
		s.to(t, Enforcing)
		require.Zero(t, strangers.Load(), "a stranger's pass outlives observing")
		s.to(t, Observing)
		s.to(t, ReadOnly)
		require.Zero(t, strangers.Load()+holders.Load(), "a pass outlives the switch to readonly")
		s.to(t, Observing)
	}
	close(stop)
	wg.Wait()
}
