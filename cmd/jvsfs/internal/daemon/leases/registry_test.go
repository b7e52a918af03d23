package leases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// leased is a registry over records of its own, and a holder: this process.
type leased struct {
	*Registry
	dir    *lease.Dir
	holder lease.Holder
	made   int
}

func newLeased(t *testing.T) *leased {
	dir, err := lease.OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	resolver := gate.NewResolver(lease.SystemClock())
	r := &leased{dir: dir}
	r.holder, err = resolver.HolderFor(os.Getpid(), gate.ScopeTree, "a test")
	require.NoError(t, err)
	r.Registry = New(zap.NewNop(), func(id lease.WorktreeID) (*Worktree, error) {
		if id == "bad" {
			return nil, errors.New("no such worktree")
		}
		r.made++
		policy := record.DefaultPolicy()
		guard := gate.NewGuard(gate.GuardConfig{Worktree: id, Mode: gate.Exclusive, Policy: policy, Clock: lease.SystemClock(), Resolver: resolver})
		w := NewWorktree(id, guard)
		return w.Keep(lease.NewKeeper(lease.KeeperConfig{Store: dir.Store(id), Policy: policy, Clock: lease.SystemClock(), Fence: w.Announcing(guard), Resumes: w.MayResume})), nil
	})
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		resolver.Close()
		require.NoError(t, dir.Close())
	})
	return r
}

// next is another daemon over the same records.
func (r *leased) next(t *testing.T) *leased {
	next := &leased{Registry: New(r.log, r.make), dir: r.dir, holder: r.holder}
	t.Cleanup(func() { require.NoError(t, next.Close()) })
	return next
}

// take takes the lease of a worktree, as a request does.
func (r *leased) take(t *testing.T, id lease.WorktreeID) (*Worktree, lease.Grant) {
	w, err := r.Get(id)
	require.NoError(t, err)
	grant, err := w.Through(func() (lease.Grant, error) { return w.Keeper.Acquire(t.Context(), r.holder) })
	require.NoError(t, err)
	return w, grant
}

func TestAWorktreeIsMadeOnceAndNoneWhenTheDaemonEnds(t *testing.T) {
	r := newLeased(t)
	require.False(t, r.Known("main"))
	w, err := r.Get("main")
	require.NoError(t, err)
	again, err := r.Get("main")
	require.NoError(t, err)
	require.Same(t, w, again)
	guard, err := r.Guard("main")
	require.NoError(t, err)
	require.Same(t, w.Guard, guard)
	require.True(t, r.Known("main"))
	require.Equal(t, 1, r.made)
	require.Equal(t, []*gate.Guard{w.Guard}, r.Guards())
	_, err = r.Guard("bad")
	require.ErrorContains(t, err, "no such worktree")

	require.False(t, r.Ended())
	require.NoError(t, r.Close())
	require.True(t, r.Ended())
	_, err = r.Get("other")
	require.ErrorIs(t, err, ErrClosing)
	require.Equal(t, 1, r.made, "it is not begun")
	require.ErrorContains(t, Closing(err), "being taken down")
	require.NotErrorIs(t, Closing(unix.EIO), ErrClosing)
}

// The release at the end is final: nobody has a lease, and nobody gets one.
func TestTheEndReleasesWhatIsHeld(t *testing.T) {
	r := newLeased(t)
	w, _ := r.take(t, "main")
	losses, done := w.Losses()
	defer done()
	_, j := w.Keeper.Observe()
	require.Equal(t, lease.Held, j.State)
	require.NoError(t, r.Close())
	_, j = w.Keeper.Observe()
	require.Equal(t, lease.Free, j.State)
	require.Equal(t, lease.LossReleased, (<-losses).Kind)
	_, err := w.Through(func() (lease.Grant, error) { t.Error("it ran"); return lease.Grant{}, nil })
	require.ErrorIs(t, err, ErrClosing)
	require.NoError(t, r.Close(), "again")
}

// A keeper that has parted leaves the record to the next daemon.
func TestALeaseThatIsPartedFromStaysInTheRecords(t *testing.T) {
	r := newLeased(t)
	w, _ := r.take(t, "main")
	r.Part()
	require.NoError(t, r.Close())
	_, j := w.Keeper.Observe()
	require.Equal(t, lease.Held, j.State)
}

// Also what is first seen while the latches are shut has its latch shut.
func TestNobodyAcquiresBehindShutLatches(t *testing.T) {
	r := newLeased(t)
	before, err := r.Get("before")
	require.NoError(t, err)
	r.Shut(errors.New("the daemon is being replaced"))
	meanwhile, err := r.Get("meanwhile")
	require.NoError(t, err)
	for _, w := range []*Worktree{before, meanwhile} {
		require.False(t, w.MayResume())
		_, err := w.latch.Acquire(t.Context(), r.holder)
		require.ErrorIs(t, err, ErrClosing, "not for writers, either")
	}
	r.Open()
	for _, id := range []lease.WorktreeID{"before", "meanwhile"} {
		w, _ := r.take(t, id)
		require.True(t, w.MayResume())
	}
}

// Whoever takes the mount away asks first, and nobody waits for a lease that would end at once.
func TestWhoWaitsForALeaseAndWhoHoldsOneOnPurposeKeepTheMount(t *testing.T) {
	r := newLeased(t)
	done := r.Take()
	_, ok := r.ShutOut()
	require.False(t, ok)
	done()
	letIn, ok := r.ShutOut()
	require.True(t, ok)
	letIn()
	r.Take()()

	require.Empty(t, r.HeldOnPurpose())
	by := r.holder
	r.holder.Auto = true
	r.take(t, "written")
	require.Empty(t, r.HeldOnPurpose(), "what writing took goes with the mount")
	r.holder = by
	r.take(t, "main")
	require.Equal(t, by.ID()+" holds worktree main", r.HeldOnPurpose())
}

// What runs for the registry learns of its end, also if it begins after that.
func TestWhatTheRegistryRunsEndsWithIt(t *testing.T) {
	r := newLeased(t)
	ended := make(chan error, 2)
	r.Start(func(ctx context.Context) { <-ctx.Done(); ended <- ctx.Err() })
	require.NoError(t, r.Close())
	require.Len(t, ended, 1, "Close has waited for it")
	require.ErrorIs(t, <-ended, context.Canceled)
	r.Start(func(ctx context.Context) { ended <- ctx.Err() })
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A listener that does not read keeps nobody from being told.
func TestALossIsToldToAllWhoListen(t *testing.T) {
	b := newBroadcast()
	_, quiet := b.subscribe()
	defer quiet()
	losses, done := b.subscribe()
	for i := range 20 {
		b.tell(lease.Loss{Token: lease.Token(i)})
		if i < 8 {
			require.Equal(t, lease.Token(i), (<-losses).Token)
		}
	}
	done()
	require.Len(t, b.subs, 1)
}

// exec keeps a lease as long as one of its connections lives.
func TestExecKeepsALeaseByEachOfItsConnections(t *testing.T) {
	var k ExecLeases
	require.False(t, k.Has(3))
	first, second := k.Begin(3), k.Begin(3)
	first()
	require.True(t, k.Has(3))
	require.False(t, k.Has(4))
	second()
	require.False(t, k.Has(3))
	require.Empty(t, k.by)
}
