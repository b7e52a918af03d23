package gate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// held is a guard whose lease of user 7 is held up.
func held(t *testing.T) (*Guard, *keeper, lease.Token) {
	t.Helper()
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	require.NoError(t, g.Hold(t.Context(), tok))
	return g, k, tok
}

// enterInBackground enters and reports the refusal, nil if it was let in.
func enterInBackground(t *testing.T, g *Guard, r Request) <-chan *Refusal {
	t.Helper()
	done := make(chan *Refusal, 1)
	go func() {
		p, no := g.Enter(r)
		p.Leave()
		done <- no
	}()
	return done
}

func mustNotDecide(t *testing.T, done <-chan *Refusal) {
	t.Helper()
	select {
	case no := <-done:
		t.Fatalf("decided while the lease is held up: %v", no)
	case <-time.After(20 * time.Millisecond): // only a wrong guard decides here, and it does so at once
	}
}

func TestAHeldUpHolderWaitsAndGoesOn(t *testing.T) {
	g, _, tok := held(t)
	byHandle, byName := enterInBackground(t, g, write(Epoch(tok))), enterInBackground(t, g, byUser(7))
	mustNotDecide(t, byHandle)
	mustNotDecide(t, byName)
	mustRefuse(t, g, byUser(8), ReasonHeldByOther) // nobody else has to wait
	g.Resume(tok)
	require.Nil(t, <-byHandle)
	require.Nil(t, <-byName)
	require.Zero(t, g.open.Load().inflight.Load())
}

func TestAHeldUpHolderIsRefusedAfterTheHandover(t *testing.T) {
	g, k, tok := held(t)
	byHandle, byName := enterInBackground(t, g, write(Epoch(tok))), enterInBackground(t, g, byUser(7))
	mustNotDecide(t, byHandle)
	k.lose(lease.LossHandedOver, tok, userHolder(7, "7"))
	next := k.give(userHolder(8, "8"))
	g.Resume(tok) // comes late, and is about an epoch that is over
	require.Equal(t, ReasonStaleHandle, (<-byHandle).Reason)
	require.NotNil(t, <-byName)
	mustRefuse(t, g, byUser(7), ReasonHeldByOther) // handed over, not revoked
	mustEnter(t, g, write(Epoch(next))).Leave()
}

func TestAHoldWaitsForWhatIsInFlight(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(Epoch(tok)))
	done := make(chan error, 1)
	go func() { done <- g.Hold(context.Background(), tok) }()
	require.Eventually(t, func() bool { return g.open.Load().awaited.Load() != nil }, eventually, tick)
	mustWait(t, done)
	p.Leave()
	require.NoError(t, <-done)
	g.Resume(tok)
}

func TestAHoldThatIsGivenUpChangesNothing(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(Epoch(tok)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Hold(ctx, tok) }()
	require.Eventually(t, func() bool { return g.open.Load().stopped.Load() != nil }, eventually, tick)
	waiting := enterInBackground(t, g, write(Epoch(tok)))
	mustNotDecide(t, waiting)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Nil(t, <-waiting)
	p.Leave()
	mustEnter(t, g, write(Epoch(tok))).Leave()
	require.NoError(t, g.Hold(t.Context(), tok), "and it can be tried again")
	g.Resume(tok)
}

func TestAHoldIsOfOneEpochAndOneAtATime(t *testing.T) {
	g, k, tok := held(t)
	require.ErrorIs(t, g.Hold(t.Context(), tok), errHeldUp)
	require.ErrorIs(t, g.Hold(t.Context(), tok+1), errEpochOver)
	k.lose(lease.LossExpired, tok, userHolder(7, "7"))
	require.ErrorIs(t, g.Hold(t.Context(), tok), errEpochOver)
}

// A close ends a hold that is still draining: the hold must not report success.
func TestACloseWinsOverAHold(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(Epoch(tok)))
	done, closed := make(chan error, 1), make(chan struct{})
	go func() { done <- g.Hold(context.Background(), tok) }()
	require.Eventually(t, func() bool { return g.open.Load().stopped.Load() != nil }, eventually, tick)
	e := g.open.Load()
	go func() { k.lose(lease.LossExpired, tok, userHolder(7, "7")); close(closed) }()
	require.Eventually(t, e.isOver, eventually, tick)
	p.Leave()
	require.ErrorIs(t, <-done, errEpochOver)
	<-closed
}

func TestAHoldWritesBackFirst(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	g.OnYield(func(context.Context) error {
		mustEnter(t, g, write(Epoch(tok))).Leave() // would wait for ever under a hold
		return nil
	})
	require.NoError(t, g.Hold(t.Context(), tok))
	g.Resume(tok)
	g.OnYield(func(context.Context) error { return context.DeadlineExceeded })
	require.ErrorIs(t, g.Hold(t.Context(), tok), context.DeadlineExceeded)
	mustEnter(t, g, write(Epoch(tok))).Leave()
}
