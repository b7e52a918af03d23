package transport

import (
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// The line is bounded and in the order of arrival.
func TestTheLineForAThreadIsInOrderAndBounded(t *testing.T) {
	s := newLimits(dyingAbovePidMax)
	require.True(t, s.enter(kindOther))
	for range threads[kindMutation] {
		require.True(t, s.enter(kindMutation))
	}
	require.False(t, s.enter(kindMutation))
	require.True(t, s.enter(kindRead), "each kind has its own")
	first, second, third := s.stand(kindMutation, headerFrom(1), 10), s.stand(kindMutation, headerFrom(2), 10), s.stand(kindMutation, headerFrom(3), 10)
	require.True(t, s.signal(2))
	goOn, signalled := s.await(second)
	require.False(t, goOn, "nobody has this number, so it has been killed")
	require.True(t, signalled)
	require.False(t, s.signal(2))
	s.leave(kindMutation)
	require.True(t, <-first.turn)
	require.False(t, s.callOff(1), "it has its turn")
	s.take(kindMutation) // one comes back from a wait
	s.leave(kindMutation)
	require.Empty(t, third.turn, "the one too many has gone, and nobody came")
	third.pid = uint32(os.Getpid())
	require.True(t, s.signal(3))
	require.True(t, s.signal(3), "another of its threads")
	s.leave(kindMutation)
	goOn, signalled = s.await(third)
	require.True(t, goOn, "who lives waits for its turn")
	require.True(t, signalled)
	for range 3 {
		s.stood(10)
	}
	require.Zero(t, s.count)
	require.NotNil(t, s.stand(kindMutation, headerFrom(9), queuedBytes))
	require.Nil(t, s.stand(kindMutation, headerFrom(10), 1))
}

func headerFrom(unique uint64) *fuse.InHeader {
	return &fuse.InHeader{Unique: unique, Caller: fuse.Caller{Pid: 1<<30 + uint32(unique)}} // above pid_max
}
