package leases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// A daemon that is replaced tells what it holds and renews nothing; if it stays after all, it leads again.
func TestARegistryThatFollowsTellsWhatItHoldsAndMayLeadAgain(t *testing.T) {
	r := newLeased(t)
	_, err := r.Get("free")
	require.NoError(t, err)
	w, grant := r.take(t, "main")
	asked := map[lease.WorktreeID]bool{}
	held, err := r.Follow(t.Context(), func(id lease.WorktreeID) lease.Lead { asked[id] = true; return lease.Stay })
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, grant.Token, held["main"].Token)
	require.Equal(t, map[lease.WorktreeID]bool{"main": true, "free": true}, asked)
	_, sole := w.Guard.SoleWriter()
	require.False(t, sole, "the holder may write through the other daemon")

	r.Resume()
	r.Overlap(false)
	_, err = w.Keeper.Renew(t.Context())
	require.NoError(t, err)
	_, sole = w.Guard.SoleWriter()
	require.True(t, sole)
}

// The daemon that replaces another one opens its leases beside it, and leads them from then on.
func TestALeaseIsJoinedBesideTheDaemonThatHoldsIt(t *testing.T) {
	before := newLeased(t)
	_, grant := before.take(t, "main")
	after := before.next(t)
	held, err := before.Follow(t.Context(), func(lease.WorktreeID) lease.Lead { return lease.Stay })
	require.NoError(t, err)
	require.NoError(t, after.Join(t.Context(), held))
	w, err := after.Get("main")
	require.NoError(t, err)
	_, sole := w.Guard.SoleWriter()
	require.False(t, sole, "the holder may write through the daemon before")
	after.Resume()
	g, is := w.Keeper.Held()
	require.True(t, is)
	require.Equal(t, grant.Token, g.Token)
	_, err = w.Keeper.Renew(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, after.Join(t.Context(), map[lease.WorktreeID]lease.Saved{"bad": {}}), "the lease of bad: no such worktree")
	before.Part()
}

// Those who watch a lease are sent to the daemon that leads now; who watches a free worktree has nothing to lose.
func TestThoseWhoWatchAreToldOfTheReplacement(t *testing.T) {
	r := newLeased(t)
	free, err := r.Get("free")
	require.NoError(t, err)
	none, done := free.Losses()
	defer done()
	w, grant := r.take(t, "main")
	losses, done := w.Losses()
	defer done()
	r.TellReplaced()
	l := <-losses
	require.Equal(t, lease.LossReplaced, l.Kind)
	require.Equal(t, grant.Token, l.Token)
	require.Empty(t, none)
	require.Equal(t, "replaced", w.AwaitLoss(t.Context(), grant, closedWith(l)))
}

func closedWith(l lease.Loss) <-chan lease.Loss {
	c := make(chan lease.Loss, 1)
	c <- l
	return c
}

// A lease of a killed daemon goes on under its token, and one of a worktree that cannot be made runs out.
func TestLeasesOfAKilledDaemonAreAdopted(t *testing.T) {
	r := newLeased(t)
	_, grant := r.take(t, "main")
	held := map[lease.WorktreeID]lease.Saved{"main": lease.Save(grant, lease.SystemClock()), "bad": {}}
	r.Part()
	require.NoError(t, r.Close())

	next := r.next(t)
	next.Adopt(t.Context(), held)
	w, err := next.Get("main")
	require.NoError(t, err)
	g, is := w.Keeper.Held()
	require.True(t, is)
	require.Equal(t, grant.Token, g.Token)
	require.False(t, next.Known("bad"))
}

// Who had lost a lease stays out, though this daemon has not seen it. Others do not.
func TestWhoHadLostALeaseStaysOut(t *testing.T) {
	r := newLeased(t)
	r.Revoke(map[lease.WorktreeID][]lease.Loss{"main": {{Kind: lease.LossExpired, Token: 2, Holder: r.holder}}, "bad": {{}}})
	w, err := r.Get("main")
	require.NoError(t, err)
	require.Contains(t, w.Guard.Explain(r.holder.PID).Sentence, "stays out")
	other, err := r.Get("other")
	require.NoError(t, err)
	require.NotContains(t, other.Guard.Explain(r.holder.PID).Sentence, "stays out")
}
