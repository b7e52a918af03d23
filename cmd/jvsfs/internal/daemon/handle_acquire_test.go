package daemon

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

func TestAwaitLossIgnoresOtherTokensAndFailedRenewals(t *testing.T) {
	losses, w, grant := make(chan lease.Loss, 3), &worktree{}, lease.Grant{Token: 2, Resumes: true}
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 1}
	losses <- lease.Loss{Kind: lease.LossRenewFailed, Token: 2}
	losses <- lease.Loss{Kind: lease.LossSuperseded, Token: 2}
	require.Equal(t, "superseded", w.awaitLoss(t.Context(), grant, losses))
	losses <- lease.Loss{Kind: lease.LossPaused, Token: 2}
	losses <- lease.Loss{Kind: lease.LossResumed, Token: 3, Since: 2}
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 5, Since: 4}
	go func() { losses <- lease.Loss{Kind: lease.LossExpired, Token: 4, Since: 2} }()
	require.Equal(t, "expired", w.awaitLoss(t.Context(), grant, losses), "the holder went on under later tokens")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, w.awaitLoss(ctx, grant, losses))
}

// A keeper that waits for a store says nothing. Where no holder goes on after its deadline, the deadline says it.
func TestAwaitLossNeedsNoStoreToTellThatTheDeadlineHasPassed(t *testing.T) {
	dir, err := lease.OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	defer dir.Close()
	w := &worktree{keeper: lease.NewKeeper(lease.KeeperConfig{Store: dir.Store("main")})}
	now := lease.SystemClock().Boot()
	synctest.Test(t, func(t *testing.T) { // the ticks come at once; deadlines are by the boot clock, which goes on as ever
		require.Equal(t, "expired", w.awaitLoss(t.Context(), lease.Grant{Token: 2, Deadline: now - 2*lossGrace}, nil))
		for _, grant := range []lease.Grant{
			{Token: 2, Deadline: now + time.Hour},
			{Token: 2, Deadline: now - 2*lossGrace, Resumes: true}, // the keeper alone knows whether its holder goes on
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*lossTick+lossGrace)
			require.Empty(t, w.awaitLoss(ctx, grant, nil), "resumes: %v", grant.Resumes)
			cancel()
		}
	})
}

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
	w := &worktree{guard: gate.NewGuard(gate.GuardConfig{Worktree: "w", Mode: gate.Shared, Clock: lease.SystemClock()})}
	first, _ := w.cache.begin(func() seenStatus { return seenStatus{status: gate.Status{Detail: "as it is"}, at: time.Now()} })
	<-first
	hang := make(chan bool)
	second, _ := w.cache.begin(func() seenStatus { <-hang; return seenStatus{} })
	st, _ := w.cachedStatus(false)
	require.Equal(t, "as it is", st.Detail)
	require.Zero(t, st.SilentMS)
	require.Empty(t, lateOf(map[*worktree]<-chan struct{}{w: first}))
	require.Equal(t, map[*worktree]bool{w: true}, lateOf(map[*worktree]<-chan struct{}{w: second}))
	st, _ = w.cachedStatus(true)
	require.Contains(t, st.Detail, "has not answered")
	require.NotZero(t, st.SilentMS)
	close(hang)
	<-second
}
