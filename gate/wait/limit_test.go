package wait

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// nobody is a thread that does not exist: whoever looks takes it for one that was killed.
const nobody = math.MaxInt32

func TestAWaitEndsWithItsEventOrItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		never, closed := make(chan struct{}), make(chan struct{})
		close(closed)
		began := time.Now()
		require.Equal(t, Done, l.Until(Caller{}, time.Hour, nil, On(closed)))
		require.Equal(t, Done, l.Until(Caller{}, time.Hour, closed, On(never), On(never)), "the other event takes the place of all")
		require.Zero(t, time.Since(began))
		require.Equal(t, Elapsed, l.Until(Caller{}, time.Second, nil, On(closed), On(never)), "all must happen")
		require.Equal(t, time.Second, time.Since(began))
		require.Zero(t, l.Waiting())
	})
}

// What is asked for an event may change what is waited for: a place in a queue is taken then, and not before.
func TestAnEventIsAskedForWhenTheOneBeforeHasHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		first, asked := make(chan struct{}), false
		second := func() <-chan struct{} { asked = true; return first }
		time.AfterFunc(time.Second, func() {
			require.False(t, asked)
			close(first)
		})
		require.Equal(t, Done, l.Until(Caller{}, time.Hour, nil, On(first), second))
		require.True(t, asked)
	})
}

func TestAPollLooksUntilItSeesOrItsPatienceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		began, looks := time.Now(), 0
		require.Equal(t, Done, l.Poll(Caller{}, time.Hour, func() bool { looks++; return looks == 5 }))
		require.Equal(t, (1+2+4+8+8)*time.Millisecond, time.Since(began))
		require.Equal(t, Elapsed, l.Poll(Caller{}, time.Second, func() bool { return false }))
		require.Zero(t, l.Waiting())
	})
}

func TestAKilledCallerStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		signal := make(chan struct{})
		c := Caller{TID: nobody, Signal: signal}
		time.AfterFunc(time.Second, func() { close(signal) })
		began := time.Now()
		require.Equal(t, Killed, l.Until(c, time.Hour, nil, On(nil)))
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, Killed, l.Poll(c, time.Hour, func() bool { return false }))
		require.Equal(t, Elapsed, l.Until(Caller{Signal: signal}, time.Second, nil, On(nil)), "who is not visible from here")
		require.Zero(t, l.Waiting())
	})
}

func TestNoMoreWaitThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		hooked := 0
		l.OnWait(func() func() { hooked++; return func() { hooked-- } })
		ends := make([]func(), Max)
		for i := range ends {
			end, ok := l.Begin(Caller{}, nil)
			require.True(t, ok)
			ends[i] = end
		}
		require.Equal(t, Full, l.Until(Caller{}, time.Hour, nil, On(nil)))
		require.Equal(t, Full, l.Poll(Caller{}, time.Hour, func() bool { return true }))
		require.Equal(t, Max, hooked)
		require.EqualValues(t, Max, l.Waiting())
		for _, end := range ends {
			end()
		}
		require.Zero(t, l.Waiting())
		require.Zero(t, hooked)
		require.Equal(t, Elapsed, l.Until(Caller{}, time.Second, nil, On(nil)))
	})
}

func TestABroadcastReachesAllWhoWait(t *testing.T) {
	var b Broadcast
	b.Tell()
	one, other := b.Next(), b.Next()
	require.False(t, Happened(one))
	b.Tell()
	require.True(t, Happened(one))
	require.True(t, Happened(other))
	require.False(t, Happened(b.Next()), "that is the one after")
}

func TestAWaitWithoutACallerEndsWithTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, why := make(chan struct{}), errors.New("why")
		close(closed)
		require.NoError(t, For(t.Context(), closed))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		require.ErrorIs(t, For(ctx, nil), why)
	})
}
