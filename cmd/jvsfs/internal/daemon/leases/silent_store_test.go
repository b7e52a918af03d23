package leases

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Who asks about records that do not answer waits for storePatience, and is told what was seen before; what has just happened shows.
func TestASilentStoreIsAskedOnceHoweverManyAsk(t *testing.T) {
	var g statusCache
	hang, looks := make(chan bool), 0
	look := func() seenStatus { looks++; <-hang; return seenStatus{at: time.Now()} }
	first, fresh := g.begin(look)
	require.True(t, fresh)
	second, fresh := g.begin(look)
	require.False(t, fresh)
	require.Equal(t, first, second)
	seen, silent := g.last()
	require.True(t, seen.at.IsZero())
	require.False(t, silent.IsZero())
	close(hang)
	<-first
	require.Equal(t, 1, looks)
	seen, silent = g.last()
	require.False(t, seen.at.IsZero())
	require.True(t, silent.IsZero())
}

// However often a store is asked that does not answer, no more than some calls wait for it.
func TestASilentStoreIsAskedByABoundedNumberOfCalls(t *testing.T) {
	a, stuck := make(storeAsks, 2), make(chan bool)
	var all sync.WaitGroup
	for i := range 5 {
		all.Add(1)
		begun, ended := a.endsWithin(func() { defer all.Done(); <-stuck }, time.Millisecond)
		require.Equal(t, i < 2, begun)
		require.False(t, ended)
		if !begun {
			all.Done()
		}
	}
	close(stuck)
	all.Wait()
	begun, ended := a.endsWithin(func() {}, time.Minute)
	require.True(t, begun && ended)
}

// That somebody else looks just now is no silence of the store: only a caller whose own look is late is told of one.
func TestALookOfAnotherCallerIsNoSilenceOfTheStore(t *testing.T) {
	w := &Worktree{Guard: gate.NewGuard(gate.GuardConfig{Worktree: "w", Mode: gate.Shared, Clock: lease.SystemClock()})}
	first, _ := w.cache.begin(func() seenStatus { return seenStatus{status: gate.Status{Detail: "as it is"}, at: time.Now()} })
	<-first
	hang := make(chan bool)
	second, _ := w.cache.begin(func() seenStatus { <-hang; return seenStatus{} })
	st, _ := w.cachedStatus(false)
	require.Equal(t, "as it is", st.Detail)
	require.Zero(t, st.SilentMS)
	require.Empty(t, lateOf(map[*Worktree]<-chan struct{}{w: first}))
	require.Equal(t, map[*Worktree]bool{w: true}, lateOf(map[*Worktree]<-chan struct{}{w: second}))
	st, _ = w.cachedStatus(true)
	require.Contains(t, st.Detail, "has not answered")
	require.NotZero(t, st.SilentMS)
	close(hang)
	<-second
}
