package gate

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// willingGuard lets writers wait. A writer with the holder's user belongs to the holder.
func willingGuard(t *testing.T, d time.Duration) (*Guard, *keeper) {
	g, k, _ := newTestGuard(t, func(c *GuardConfig) {
		c.WaitOnConflict, c.OnFree, c.Scope = d, AcquireOnFree, ScopeUser
	})
	return g, k
}

func writerOf(uid uint32) Request {
	return Request{Op: OpMkdir, Caller: process.Caller{TID: uint32(os.Getpid()), UID: uid}}
}

type answer struct {
	p  Pass
	no *Refusal
}

func begin(g *Guard, r Request) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		p, no := g.Enter(r)
		done <- answer{p, no}
	}()
	return done
}

func awaitQueue(t *testing.T, g *Guard, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return g.queue.Waiting() == n }, eventually, tick)
}

func TestAWriterWaitsForWhoHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Minute)
		other := userHolder(1, "other")
		token := k.give(other)
		done := begin(g, writerOf(2))
		awaitQueue(t, g, 1)
		mustWait(t, done)
		k.lose(lease.LossReleased, token, other)
		a := <-done
		require.Nil(t, a.no)
		a.p.End()
		require.False(t, g.queue.Busy())
		require.Zero(t, g.Status().Refusals)
		require.EqualValues(t, 1, g.Status().Writes)
	})
}

func TestWritersAreRefusedAtOnceUnlessTheyWait(t *testing.T) {
	g, k := willingGuard(t, 0)
	k.give(userHolder(1, "other"))
	_, no := g.Enter(writerOf(2))
	require.Equal(t, ReasonHeldByOther, no.Reason)
}

func TestAWriterWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, 20*time.Millisecond)
		k.give(userHolder(1, "other"))
		began := time.Now()
		_, no := g.Enter(writerOf(2))
		require.Equal(t, 20*time.Millisecond, time.Since(began))
		require.Equal(t, ReasonHeldByOther, no.Reason)
		require.Equal(t, syscall.EROFS, no.Errno)
		require.EqualValues(t, 1, g.Status().Refusals)
		require.False(t, g.queue.Busy())
	})
}

// A caller that may not write must not keep others out, and not by waiting.
func TestOnlyWhoMayWriteWaits(t *testing.T) {
	g, k := willingGuard(t, time.Minute)
	k.give(userHolder(1, "other"))
	r := writerOf(2)
	r.May = func() bool { return false }
	_, no := g.Enter(r)
	require.Equal(t, reasonNoRight, no.Reason)
	require.False(t, g.queue.Busy())
}

// A free lease goes to the one who asked first, not to the one who comes now.
func TestAFreeLeaseGoesToTheWriterWhoAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Minute)
		first := g.Queue().Join() // on purpose
		first.Stand()
		done := begin(g, writerOf(2))
		awaitQueue(t, g, 2)
		require.Empty(t, k.asked, "the lease is free, and another's turn")
		first.Leave()
		a := <-done
		require.Nil(t, a.no)
		a.p.End()
	})
}

// A new holder lets in all who belong to it, wherever they stand in line.
func TestWritersOfTheNewHolderLeaveTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Minute)
		first := g.Queue().Join()
		first.Stand()
		done := begin(g, writerOf(2))
		awaitQueue(t, g, 2)
		began := time.Now()
		k.give(mountHolder("all"))
		a := <-done
		require.Nil(t, a.no)
		require.Less(t, time.Since(began), time.Second, "in the time of a bubble: not for as long as it may wait")
		a.p.End()
		first.Leave()
	})
}

// A caller whose call is answered with ESTALE waits on the way, and has the lease when it makes it again.
func TestACallMadeAgainWaitsOnTheWayAndThenHasTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Minute)
		other := userHolder(1, "other")
		token := k.give(other)
		r := writerOf(2)
		r.EstaleRetry = true
		_, no := g.Enter(r)
		require.Equal(t, ReasonEstaleRetry, no.Reason)
		require.Equal(t, syscall.ESTALE, no.Errno)
		s := g.cfg.Enforcement
		require.True(t, s.Awaited())
		began := time.Now()
		s.Await(process.Caller{TID: r.Caller.TID + 1}, nil)
		require.Zero(t, time.Since(began), "somebody else does not wait")

		came := make(chan struct{})
		go func() { defer close(came); s.Await(r.Caller, nil) }()
		awaitQueue(t, g, 1)
		require.False(t, s.Awaited())
		mustWait(t, came)
		k.lose(lease.LossReleased, token, other)
		<-came
		require.Len(t, k.asked, 1, "the lease is there before the call is made again")
		p, no := g.Enter(r)
		require.Nil(t, no)
		p.End()
		require.EqualValues(t, 1, g.Status().Writes)
		require.Zero(t, g.Status().Refusals)
	})
}

// The kernel makes a call again once. Afterwards the answer is the usual one.
func TestACallIsMadeAgainOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, 20*time.Millisecond)
		k.give(userHolder(1, "other"))
		r := writerOf(2)
		r.EstaleRetry = true
		_, no := g.Enter(r)
		require.Equal(t, ReasonEstaleRetry, no.Reason)
		_, no = g.Enter(r) // it has not come by
		require.Equal(t, ReasonHeldByOther, no.Reason)
		require.False(t, g.cfg.Enforcement.Awaited())

		g.cfg.Enforcement.retries = wait.Retries[*queued]{} // it is forgotten
		_, no = g.Enter(r)
		require.Equal(t, ReasonEstaleRetry, no.Reason)
		g.cfg.Enforcement.Await(r.Caller, nil)
		_, no = g.Enter(r) // it came by, and has waited for long enough
		require.Equal(t, ReasonHeldByOther, no.Reason)
		require.EqualValues(t, 2, g.Status().Refusals)
		require.False(t, g.queue.Busy())
	})
}

// A caller that never comes back is forgotten.
func TestACallerThatNeverComesBackLosesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Millisecond)
		k.give(userHolder(1, "other"))
		r := writerOf(2)
		r.EstaleRetry = true
		_, no := g.Enter(r)
		require.Equal(t, ReasonEstaleRetry, no.Reason)
		require.Eventually(t, func() bool { return !g.cfg.Enforcement.Awaited() && !g.queue.Busy() }, eventually, tick)
	})
}

// A call that had its turn and lost the lease before it was made again waits where it is: the kernel
// makes it again only once, and would then show ESTALE to the caller.
func TestACallThatHadItsTurnIsNotMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k := willingGuard(t, time.Minute)
		r := writerOf(2)
		r.EstaleRetry = true
		other := userHolder(1, "other")
		token := k.give(other)
		_, no := g.Enter(r)
		require.Equal(t, ReasonEstaleRetry, no.Reason)
		k.lose(lease.LossReleased, token, other)
		g.cfg.Enforcement.Await(r.Caller, nil)
		own := g.open.Load()
		k.lose(lease.LossReleased, own.id.Token(), own.holder())
		token = k.give(other)
		done := begin(g, r)
		awaitQueue(t, g, 1)
		mustWait(t, done)
		k.lose(lease.LossReleased, token, other)
		a := <-done
		require.Nil(t, a.no)
		a.p.End()
	})
}
