package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// overdue is a guard whose holder's deadline has come, with a handle that was opened before. The
// keeper can go on with the lease, as on a file system of this kernel.
func overdue(t *testing.T, h lease.Holder) (*Guard, *keeper, Request) {
	t.Helper()
	g, k, handle, c := mayResume(t, h)
	c.move(k.lasting)
	return g, k, handle
}

// mayResume is that before the deadline.
func mayResume(t *testing.T, h lease.Holder) (*Guard, *keeper, Request, *clock) {
	t.Helper()
	g, k, c := newTestGuard(t, nil)
	k.resumes = true
	handle := write(EpochOf(k.give(h)))
	mustEnter(t, g, handle).End()
	g.HandleOpened(handle.Epoch)
	return g, k, handle, c
}

// resume is what a keeper does that goes on without a gap.
func (k *keeper) resume(h lease.Holder) lease.Token {
	k.lose(lease.LossResumed, k.next, h)
	return k.giveSince(k.next, h)
}

func TestAWriteByHandleWaitsUntilItsHolderResumes(t *testing.T) {
	h := mountHolder("a")
	g, k, handle := overdue(t, h)
	k.onLook = func() { k.resume(h) }
	p := mustEnter(t, g, handle)
	require.EqualValues(t, 2, p.Epoch().Token(), "it is counted under the new token")
	p.End()
	require.True(t, g.Current(handle.Epoch))
	require.EqualValues(t, 1, g.Status().WriteHandles, "the open files are the same")
	require.Contains(t, g.Status().Detail, "went on after a pause (its tokens are 1 to 2)")
	g.HandleClosed(handle.Epoch)
	require.Zero(t, g.Status().WriteHandles)
	mustEnter(t, g, write(NoEpoch)).End()
	mustRefuse(t, g, write(EpochOf(3)), reasonStaleHandle)
}

func TestAWriteByNameWaitsUntilItsHolderResumes(t *testing.T) {
	h := mountHolder("a")
	g, k, _ := overdue(t, h)
	k.onLook = func() { k.resume(h) }
	mustEnter(t, g, write(NoEpoch)).End()
	require.Zero(t, g.Status().Revoked)
}

// A holder that was stopped alone has lost the lease, and with it the kernel's caches and its right
// to take the lease by writing. When it goes on, all of that is back but the caches.
func TestAStoppedHolderThatResumesMayTakeTheLeaseAgain(t *testing.T) {
	h := mountHolder("a")
	for name, ask := range map[string]func(handle Request) Request{
		"by handle": func(handle Request) Request { return handle },
		"by path":   func(Request) Request { return write(NoEpoch) },
	} {
		t.Run(name, func(t *testing.T) {
			g, k, handle, c := mayResume(t, h)
			dropped := 0
			g.OnClose(func(lease.Loss) { dropped++ })
			k.lose(lease.LossPaused, 1, h)
			c.move(k.lasting)
			k.state = lease.Stealable
			require.Equal(t, 1, dropped)
			require.Equal(t, 1, g.Status().Revoked)
			require.False(t, g.Current(handle.Epoch))
			k.onLook = func() { k.giveSince(1, h) }
			mustEnter(t, g, ask(handle)).End()
			require.True(t, g.Current(handle.Epoch))
			require.Zero(t, g.Status().Revoked)
			require.Equal(t, 1, dropped)
		})
	}
}

// The kernel writes back what a stopped holder has stored through mappings while its lease lasts. If
// that fails those stores are lost, and what it has open does not go on as if nothing were missing.
func TestAStoppedHolderWhoseStoresWereLostDoesNotResume(t *testing.T) {
	h := mountHolder("a")
	for name, c := range map[string]struct {
		yield func(context.Context, *clock) error
		want  bool
	}{
		"written back":                    {func(context.Context, *clock) error { return nil }, true},
		"not written back":                {func(context.Context, *clock) error { return errors.New("disk") }, false},
		"written back after the deadline": {func(_ context.Context, c *clock) error { c.move(time.Minute); return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, k, clock := newTestGuard(t, nil)
			handle := write(EpochOf(k.give(h)))
			g.OnYield(func(ctx context.Context) error {
				_, bounded := ctx.Deadline()
				require.True(t, bounded)
				mustEnter(t, g, handle).End()
				return c.yield(ctx, clock)
			})
			k.lose(lease.LossPaused, 1, h)
			k.giveSince(1, h)
			require.Equal(t, c.want, g.Current(handle.Epoch))
			require.Zero(t, g.Status().Revoked)
			k.lose(lease.LossResumed, 2, h)
			k.giveSince(1, h)
			require.Equal(t, c.want, g.Current(handle.Epoch), "nor with the next pause")
			require.True(t, g.Current(EpochOf(2)))
			k.lose(lease.LossRenewFailed, 3, h)
			g.Open(lease.Grant{Token: 3, Since: 1, Holder: h, Deadline: never})
			require.Equal(t, c.want, g.Current(handle.Epoch), "nor after a failed renewal")
			require.True(t, g.Current(EpochOf(2)))
			mustEnter(t, g, write(NoEpoch)).End()
		})
	}
}

// Whoever took over, or nobody: what was opened before stays out.
func TestAHolderThatWaitsToResumeIsRefusedAfterATakeover(t *testing.T) {
	a, b := mountHolder("a"), mountHolder("b")
	for name, c := range map[string]struct {
		meanwhile func(g *Guard, k *keeper)
		handle    Reason
	}{
		"expired":             {func(_ *Guard, k *keeper) { k.lose(lease.LossExpired, 1, a) }, reasonStaleHandle},
		"superseded":          {func(_ *Guard, k *keeper) { k.lose(lease.LossSuperseded, 1, a) }, reasonStaleHandle},
		"resumed, but failed": {func(_ *Guard, k *keeper) { k.lose(lease.LossResumed, 1, a); k.lose(lease.LossExpired, 1, a) }, reasonStaleHandle},
		"another holder":      {func(_ *Guard, k *keeper) { k.lose(lease.LossExpired, 1, a); k.give(b) }, reasonStaleHandle},
		"another, in a keeper with a bug": {func(_ *Guard, k *keeper) { k.lose(lease.LossResumed, 1, a); k.give(b) },
			reasonStaleHandle},
	} {
		t.Run(name, func(t *testing.T) {
			g, k, handle := overdue(t, a)
			dropped := 0
			g.OnClose(func(lease.Loss) { dropped++ })
			k.onLook = func() { c.meanwhile(g, k) }
			mustRefuse(t, g, handle, c.handle)
			require.Equal(t, 1, dropped, "the kernel's caches, once")
			require.False(t, g.Current(handle.Epoch))
			require.Nil(t, g.pausing)
		})
	}
}

// Nothing enters between the deadline and the new claim, and the keeper waits for what is in flight.
func TestNoMutationEntersBetweenTheDeadlineAndTheNewClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mountHolder("a")
		g, k, c := newTestGuard(t, nil)
		k.resumes = true
		tok := k.give(h)
		inside := mustEnter(t, g, write(EpochOf(tok)))
		c.move(k.lasting)
		g.OnClose(func(lease.Loss) { t.Error("the caches stay") })
		drained := make(chan struct{})
		go func() { k.lose(lease.LossResumed, tok, h); close(drained) }()
		require.Eventually(t, func() bool { return g.open.Load() == nil }, eventually, tick)
		mustWait(t, drained)
		require.True(t, g.Current(EpochOf(tok)), "the kernel's pages are worth something still")
		entered := make(chan Pass, 1)
		go func() {
			p, no := g.Enter(write(EpochOf(tok)))
			if no != nil {
				t.Errorf("refused: %v", no)
			}
			entered <- p
		}()
		require.Eventually(t, func() bool { return g.cfg.Enforcement.Waiting() == 1 }, eventually, tick)
		inside.End()
		<-drained
		mustWait(t, entered)
		k.giveSince(tok, h)
		(<-entered).End()
		require.True(t, wait.Happened(inside.e.gone))
	})
}

// Nobody waits where the keeper cannot go on: other hosts write the store, or the holder is stopped,
// or a wait was in vain.
func TestNobodyWaitsWhereTheHolderCannotResume(t *testing.T) {
	h := mountHolder("a")
	g, k, handle := overdue(t, h)
	e := g.last.Load()
	require.True(t, g.mayResume(e))
	e.inVain.Store(true)
	require.False(t, g.mayResume(e))
	mustRefuse(t, g, handle, reasonExpired)
	require.Zero(t, k.looks.Load())

	g, k, c := newTestGuard(t, nil)
	handle = write(EpochOf(k.give(h)))
	c.move(k.lasting)
	mustRefuse(t, g, handle, reasonExpired)
	require.Zero(t, k.looks.Load())
}

func TestAnEpochLetsEarlierHandlesOfItsHolderWrite(t *testing.T) {
	e := newEpoch(EpochOf(7), lease.Holder{}, never, 0)
	for id, want := range map[Epoch]bool{EpochOf(7): true, EpochOf(6): false, EpochOf(8): false, NoEpoch: false, Stale: false} {
		require.Equal(t, want, e.covers(id), "%v", id)
	}
	e.ofGrant(lease.Grant{Token: 7, Since: 5})
	for id, want := range map[Epoch]bool{EpochOf(4): false, EpochOf(5): true, EpochOf(6): true, EpochOf(7): true, EpochOf(8): false,
		freeEpochOf(6): false, sharedEpoch: false, ByPlace: false} {
		require.Equal(t, want, e.covers(id), "%v", id)
	}
	e.ofGrant(lease.Grant{Token: 7, Since: 9}) // nonsense
	require.False(t, e.covers(EpochOf(8)) || e.covers(EpochOf(9)))
	free := newEpoch(freeEpochOf(7), lease.Holder{}, never, 0)
	require.True(t, free.covers(freeEpochOf(7)))
	require.False(t, free.covers(freeEpochOf(6)))
}
