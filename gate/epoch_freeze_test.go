package gate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// frozenGuard is a guard whose lease of user 7 is frozen.
type frozenGuard struct {
	*Guard
	k    *keeper
	tok  lease.Token
	thaw func()
}

func frozenLease(t *testing.T) *frozenGuard {
	t.Helper()
	g, k, _ := newTestGuard(t, nil)
	return frozenFor(t, g, k, freezePatience)
}

func frozenFor(t *testing.T, g *Guard, k *keeper, patience time.Duration) *frozenGuard {
	t.Helper()
	h := &frozenGuard{Guard: g, k: k, tok: k.give(userHolder(7, "7"))}
	h.freeze(t, patience)
	return h
}

func (h *frozenGuard) freeze(t *testing.T, patience time.Duration) {
	t.Helper()
	h.patience = patience
	thaw, err := h.Freeze(t.Context(), h.tok)
	require.NoError(t, err)
	h.thaw = sync.OnceFunc(thaw)
	t.Cleanup(h.thaw)
}

// freezeError returns the error of a freeze.
func freezeError(_ func(), err error) error { return err }

// enterInBackground enters and reports the refusal, nil if it was let in.
func enterInBackground(t *testing.T, g *Guard, r Request) <-chan *Refusal {
	t.Helper()
	done := make(chan *Refusal, 1)
	go func() {
		p, no := g.Enter(r)
		p.End()
		done <- no
	}()
	return done
}

func TestAFrozenHolderWaitsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := frozenLease(t)
		g, tok := h.Guard, h.tok
		byHandle, byName := enterInBackground(t, g, write(EpochOf(tok))), enterInBackground(t, g, byUser(7))
		mustWait(t, byHandle)
		mustWait(t, byName)
		mustRefuse(t, g, byUser(8), ReasonHeldByOther) // nobody else has to wait
		h.thaw()
		require.Nil(t, <-byHandle)
		require.Nil(t, <-byName)
		require.Zero(t, g.open.Load().inflight.Load())
	})
}

func TestAFrozenHolderIsRefusedAfterTheHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := frozenLease(t)
		g, k, tok := h.Guard, h.k, h.tok
		byHandle, byName := enterInBackground(t, g, write(EpochOf(tok))), enterInBackground(t, g, byUser(7))
		mustWait(t, byHandle)
		k.lose(lease.LossHandedOver, tok, userHolder(7, "7"))
		next := k.give(userHolder(8, "8"))
		h.thaw() // comes late, for an epoch that is over
		require.Equal(t, reasonStaleHandle, (<-byHandle).Reason)
		require.NotNil(t, <-byName)
		mustRefuse(t, g, byUser(7), ReasonHeldByOther) // handed over, not revoked
		mustEnter(t, g, write(EpochOf(next))).End()
	})
}

func TestTheFreezeOfAnEpochWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		done := make(chan error, 1)
		go func() { done <- freezeError(g.Freeze(context.Background(), tok)) }()
		require.Eventually(t, func() bool { return g.open.Load().awaited.Load() != nil }, eventually, tick)
		mustWait(t, done)
		p.End()
		require.NoError(t, <-done)
		g.open.Load().thaw(g.open.Load().frozen())
	})
}

func TestAFreezeThatIsGivenUpChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- freezeError(g.Freeze(ctx, tok)) }()
		require.Eventually(t, func() bool { return g.open.Load().stopped.Load() != nil }, eventually, tick)
		waiting := enterInBackground(t, g, write(EpochOf(tok)))
		mustWait(t, waiting)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Nil(t, <-waiting)
		p.End()
		mustEnter(t, g, write(EpochOf(tok))).End()
		thaw, err := g.Freeze(t.Context(), tok)
		require.NoError(t, err, "and it can be tried again")
		thaw()
	})
}

func TestAFreezeIsOfOneEpochAndOneAtATime(t *testing.T) {
	h := frozenLease(t)
	g, k, tok := h.Guard, h.k, h.tok
	require.ErrorIs(t, freezeError(g.Freeze(t.Context(), tok)), errFrozenAlready)
	require.ErrorIs(t, freezeError(g.Freeze(t.Context(), tok+1)), errEpochOver)
	k.lose(lease.LossExpired, tok, userHolder(7, "7"))
	require.ErrorIs(t, freezeError(g.Freeze(t.Context(), tok)), errEpochOver)
}

// A close ends a freeze that is still draining: the freeze must not report success.
func TestACloseEndsAFreezeThatIsDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		done, closed := make(chan error, 1), make(chan struct{})
		go func() { done <- freezeError(g.Freeze(context.Background(), tok)) }()
		require.Eventually(t, func() bool { return g.open.Load().stopped.Load() != nil }, eventually, tick)
		e := g.open.Load()
		go func() { k.lose(lease.LossExpired, tok, userHolder(7, "7")); close(closed) }()
		require.Eventually(t, e.isOver, eventually, tick)
		p.End()
		require.ErrorIs(t, <-done, errEpochOver)
		<-closed
	})
}

func TestAFreezeWritesBackFirst(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	g.OnYield(func(context.Context) error {
		mustEnter(t, g, write(EpochOf(tok))).End() // would wait for ever under a freeze
		return nil
	})
	thaw, err := g.Freeze(t.Context(), tok)
	require.NoError(t, err)
	thaw()
	g.OnYield(func(context.Context) error { return context.DeadlineExceeded })
	require.ErrorIs(t, freezeError(g.Freeze(t.Context(), tok)), context.DeadlineExceeded)
	mustEnter(t, g, write(EpochOf(tok))).End()
}

// A renewal that fails ends a freeze, and the same token may be frozen again. The thaw of the first
// freeze does not end the second.
func TestAFreezeIsEndedByItsOwnThawOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := frozenLease(t)
		first := h.thaw
		h.Close(lease.Loss{Kind: lease.LossRenewFailed, Token: h.tok, Holder: userHolder(7, "7")})
		h.Open(lease.Grant{Token: h.tok, Holder: userHolder(7, "7"), Deadline: h.cfg.Clock.Boot() + time.Minute})
		h.freeze(t, freezePatience)
		waiting := enterInBackground(t, h.Guard, write(EpochOf(h.tok)))
		first()
		mustWait(t, waiting)
		h.thaw()
		require.Nil(t, <-waiting)
	})
}
