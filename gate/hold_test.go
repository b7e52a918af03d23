package gate

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// heldUp is a guard whose lease of user 7 is held up.
type heldUp struct {
	*Guard
	k      *keeper
	tok    lease.Token
	resume func()
}

func held(t *testing.T) *heldUp {
	t.Helper()
	g, k, _ := newTestGuard(t, nil)
	return heldFor(t, g, k, holdPatience)
}

func heldFor(t *testing.T, g *Guard, k *keeper, patience time.Duration) *heldUp {
	t.Helper()
	h := &heldUp{Guard: g, k: k, tok: k.give(userHolder(7, "7"))}
	h.hold(t, patience)
	return h
}

func (h *heldUp) hold(t *testing.T, patience time.Duration) {
	t.Helper()
	h.patience = patience
	resume, err := h.Hold(t.Context(), h.tok)
	require.NoError(t, err)
	h.resume = sync.OnceFunc(resume)
	t.Cleanup(h.resume)
}

// holdError is why a hold failed.
func holdError(_ func(), err error) error { return err }

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
	h := held(t)
	g, tok := h.Guard, h.tok
	byHandle, byName := enterInBackground(t, g, write(EpochOf(tok))), enterInBackground(t, g, byUser(7))
	mustNotDecide(t, byHandle)
	mustNotDecide(t, byName)
	mustRefuse(t, g, byUser(8), ReasonHeldByOther) // nobody else has to wait
	h.resume()
	require.Nil(t, <-byHandle)
	require.Nil(t, <-byName)
	require.Zero(t, g.open.Load().inflight.Load())
}

func TestAHeldUpHolderIsRefusedAfterTheHandover(t *testing.T) {
	h := held(t)
	g, k, tok := h.Guard, h.k, h.tok
	byHandle, byName := enterInBackground(t, g, write(EpochOf(tok))), enterInBackground(t, g, byUser(7))
	mustNotDecide(t, byHandle)
	k.lose(lease.LossHandedOver, tok, userHolder(7, "7"))
	next := k.give(userHolder(8, "8"))
	h.resume() // comes late, and is about an epoch that is over
	require.Equal(t, ReasonStaleHandle, (<-byHandle).Reason)
	require.NotNil(t, <-byName)
	mustRefuse(t, g, byUser(7), ReasonHeldByOther) // handed over, not revoked
	mustEnter(t, g, write(EpochOf(next))).Leave()
}

func TestAHoldWaitsForWhatIsInFlight(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(EpochOf(tok)))
	done := make(chan error, 1)
	go func() { done <- holdError(g.Hold(context.Background(), tok)) }()
	require.Eventually(t, func() bool { return g.open.Load().awaited.Load() != nil }, eventually, tick)
	mustWait(t, done)
	p.Leave()
	require.NoError(t, <-done)
	g.open.Load().resume(g.open.Load().heldUp())
}

func TestAHoldThatIsGivenUpChangesNothing(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(EpochOf(tok)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- holdError(g.Hold(ctx, tok)) }()
	require.Eventually(t, func() bool { return g.open.Load().stopped.Load() != nil }, eventually, tick)
	waiting := enterInBackground(t, g, write(EpochOf(tok)))
	mustNotDecide(t, waiting)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Nil(t, <-waiting)
	p.Leave()
	mustEnter(t, g, write(EpochOf(tok))).Leave()
	resume, err := g.Hold(t.Context(), tok)
	require.NoError(t, err, "and it can be tried again")
	resume()
}

func TestAHoldIsOfOneEpochAndOneAtATime(t *testing.T) {
	h := held(t)
	g, k, tok := h.Guard, h.k, h.tok
	require.ErrorIs(t, holdError(g.Hold(t.Context(), tok)), errHeldUp)
	require.ErrorIs(t, holdError(g.Hold(t.Context(), tok+1)), errEpochOver)
	k.lose(lease.LossExpired, tok, userHolder(7, "7"))
	require.ErrorIs(t, holdError(g.Hold(t.Context(), tok)), errEpochOver)
}

// A close ends a hold that is still draining: the hold must not report success.
func TestACloseWinsOverAHold(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	p := mustEnter(t, g, write(EpochOf(tok)))
	done, closed := make(chan error, 1), make(chan struct{})
	go func() { done <- holdError(g.Hold(context.Background(), tok)) }()
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
		mustEnter(t, g, write(EpochOf(tok))).Leave() // would wait for ever under a hold
		return nil
	})
	resume, err := g.Hold(t.Context(), tok)
	require.NoError(t, err)
	resume()
	g.OnYield(func(context.Context) error { return context.DeadlineExceeded })
	require.ErrorIs(t, holdError(g.Hold(t.Context(), tok)), context.DeadlineExceeded)
	mustEnter(t, g, write(EpochOf(tok))).Leave()
}

// A renewal that fails ends a hold, and the same token may be held up again: whoever held
// it up first does not let its writers go on.
func TestAHoldIsEndedByItsOwnEndOnly(t *testing.T) {
	h := held(t)
	first := h.resume
	h.Close(lease.Loss{Kind: lease.LossRenewFailed, Token: h.tok, Holder: userHolder(7, "7")})
	h.Open(lease.Grant{Token: h.tok, Holder: userHolder(7, "7"), Deadline: h.cfg.Clock.Boot() + time.Minute})
	h.hold(t, holdPatience)
	waiting := enterInBackground(t, h.Guard, write(EpochOf(h.tok)))
	first()
	mustNotDecide(t, waiting)
	h.resume()
	require.Nil(t, <-waiting)
}
