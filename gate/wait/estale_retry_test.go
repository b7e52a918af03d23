package wait

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// retryOf is the wait of a caller for one thing, in a queue.
func retryOf(q *Queue, of any) Retry[int] {
	return Retry[int]{Of: of, Until: time.Now().Add(time.Minute), Ticket: q.Join(), Wait: 1}
}

func TestACallIsAnsweredWithESTALEOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		var q Queue
		r := retryOf(&q, "a guard")
		require.False(t, s.Send(0, r), "it would not be recognised")
		require.True(t, s.Send(7, r))
		require.False(t, s.Send(7, r))
		require.True(t, s.Away())
		_, ok := s.Arrive(8)
		require.False(t, ok, "somebody else")
		w, ok := s.Arrive(7)
		require.True(t, ok)
		require.Equal(t, 1, w)
		require.False(t, s.Away())
		_, ok = s.Arrive(7)
		require.False(t, ok, "it has come already")
		_, ok, _ = s.Return(7, "a guard")
		require.False(t, ok, "it has had its turn: it waits anew")
		require.False(t, s.Send(7, r))
	})
}

func TestACallerThatDidNotComeByKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		var q Queue
		require.True(t, s.Send(7, retryOf(&q, "a guard")))
		_, ok, _ := s.Return(7, "another guard")
		require.False(t, ok)
		_, ok, again := s.Return(7, "a guard")
		require.True(t, ok && again)
		require.False(t, s.Away())
	})
}

func TestACallerThatWaitedItsTimeWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		var q Queue
		r := retryOf(&q, "a guard")
		r.Until = time.Now()
		require.True(t, s.Send(7, r))
		_, ok := s.Arrive(7)
		require.True(t, ok)
		w, ok, _ := s.Return(7, "a guard")
		require.True(t, ok, "its time is over when it comes back")
		require.Equal(t, 1, w)
		_, ok, again := s.Return(7, "a guard")
		require.False(t, ok || again, "the next call is another one")
	})
}

func TestWhoNeverComesBackIsForgottenAndLosesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		var q Queue
		r := retryOf(&q, "a guard")
		require.True(t, s.Send(7, r))
		<-time.After(time.Until(r.Until) + 2*retryKept)
		synctest.Wait()
		require.False(t, s.Away())
		require.False(t, q.Busy())
		require.True(t, s.Send(7, r))
	})
}

func TestTheNumberOfCallersThatAreToComeBackIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		var q Queue
		for tid := range uint32(retriesMax) {
			require.True(t, s.Send(tid+1, retryOf(&q, "a guard")))
		}
		require.False(t, s.Send(retriesMax+1, retryOf(&q, "a guard")))
	})
}

// Who waits for a window needs no ticket. The next window lets it make its call first.
func TestTheNextWindowWaitsForWhoWaitedForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Retries[int]
		me := uint32(os.Getpid())
		sent := func(tid uint32) {
			require.True(t, s.Send(tid, Retry[int]{Of: "a guard", Until: time.Now().Add(time.Minute)}))
		}
		took := func(of any) time.Duration {
			began := time.Now()
			s.LetReturn(t.Context(), of)
			return time.Since(began)
		}
		require.Zero(t, took("a guard"))
		sent(nobody)
		require.Zero(t, took("a guard"), "it was killed")
		sent(me)
		require.Zero(t, took("another guard"))
		require.Equal(t, retryKept, took("a guard"))
		time.AfterFunc(9500*time.Microsecond, func() { s.Passed(me) })
		require.Equal(t, 10*time.Millisecond, took("a guard"))

		sent(me)
		_, ok := s.Arrive(me)
		require.True(t, ok)
		s.Freed(me)
		require.Equal(t, retryKept, took("a guard"))
		<-time.After(time.Millisecond)
		require.Zero(t, took("a guard"), "it takes too long")
		_, ok, again := s.Return(me, "a guard")
		require.True(t, again && !ok, "it meets a conflict now, and is not sent again")
		_, _, again = s.Return(me, "a guard")
		require.False(t, again)
		require.Zero(t, s.windows.Load(), "each request would take the lock, for ever")
	})
}
