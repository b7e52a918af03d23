package gate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// The tests here each hold one clause of rule 9 of package lease; integration/mutation removes them one by one.

// slowClock runs a function while a mutation reads the clock.
type slowClock struct {
	*clock
	meanwhile func()
}

func (c *slowClock) Boot() time.Duration {
	if f := c.meanwhile; f != nil {
		c.meanwhile = nil
		f()
	}
	return c.clock.Boot()
}

// A mutation that is being judged has been counted already, so whoever ends the epoch waits for it.
// If it were judged first and counted afterwards, it would go ahead after the end.
func TestAMutationIsCountedBeforeItIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slowClock{clock: &clock{}}
		e := newEpoch(EpochOf(1), lease.Holder{}, time.Hour, 0)
		ended := make(chan struct{})
		c.meanwhile = func() {
			require.EqualValues(t, 1, e.inflight.Load(), "not counted yet")
			go func() { e.end(); close(ended) }()
			require.Eventually(t, e.isOver, eventually, tick)
		}
		require.True(t, e.enter(c))
		mustWait(t, ended)
		e.leave()
		<-ended
		require.False(t, e.enter(c))
	})
}

// The kernel may still write back its caches while something is in flight.
func TestCachesAreDroppedAfterTheDrainAndBeforeTheCloseReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(mountHolder("a"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		e := g.open.Load()
		hooked, closed := make(chan int64, 1), make(chan struct{})
		g.OnClose(func(lease.Loss) { hooked <- e.inflight.Load() })
		go func() { k.lose(lease.LossExpired, tok, mountHolder("a")); close(closed) }()
		require.Eventually(t, e.isOver, eventually, tick)
		p.End()
		<-closed
		select {
		case inFlight := <-hooked:
			require.Zero(t, inFlight)
		default:
			t.Fatal("the caches were not dropped")
		}
	})
}

func TestTheLastMutationToLeaveEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{}
		e := newEpoch(EpochOf(1), lease.Holder{}, never, 0)
		require.True(t, e.enter(c))
		require.True(t, e.enter(c))
		ended := make(chan struct{})
		go func() { e.end(); close(ended) }()
		require.Eventually(t, func() bool { return e.awaited.Load() != nil }, eventually, tick)
		awaited := e.awaited.Load()
		e.leave()
		mustWait(t, awaited.come)
		e.leave()
		<-ended
	})
}

func TestALeaseOpensAfterWhatWasWrittenWithoutOneIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AllowOnFree })
		p := mustEnter(t, g, byUser(7))
		free, opened := g.free.Load(), make(chan struct{})
		go func() { k.give(userHolder(8, "8")); close(opened) }()
		require.Eventually(t, free.isOver, eventually, tick, "nothing may enter without a lease any more")
		mustWait(t, opened)
		p.End()
		<-opened
	})
}
