package fence

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The matrix is every row in every situation, by the former holder and by an outsider, both with handles of their own lost leases: each is
// refused with EROFS and leaves nothing on the backing side. Reads go on throughout. Each situation is a story: some wait for a lease.

func TestEveryRowIsRefusedOnceTheLeaseIsReleased(t *testing.T) {
	losing(t, harness.Calm, func(c *cast) { c.m.Release(c.former) })
}

func TestEveryRowIsRefusedWhileAnotherHolds(t *testing.T) {
	losing(t, harness.Calm, func(c *cast) {
		c.m.Release(c.former)
		c.m.Acquire(c.usurper)
	})
}

func TestEveryRowIsRefusedOnceTheLeaseIsStolen(t *testing.T) {
	losing(t, harness.Hasty, func(c *cast) {
		c.former.Stop()
		c.m.Steal(c.usurper)
		c.former.Resume()
	})
}

func TestEveryRowIsRefusedAfterAThiefHasReleased(t *testing.T) {
	losing(t, harness.Hasty, func(c *cast) {
		c.former.Stop()
		c.m.Steal(c.usurper)
		c.m.Release(c.usurper)
		c.former.Resume()
	})
}

func TestEveryRowIsRefusedOnceTheLeaseHasExpired(t *testing.T) {
	losing(t, harness.Hasty, func(c *cast) { c.m.LetExpire(c.worktree...) })
}

func TestEveryRowIsRefusedOnceTheClaimIsRemoved(t *testing.T) {
	losing(t, harness.Hasty, func(c *cast) {
		claim, _ := c.m.HeadClaim("")
		require.NoError(c.t, os.Remove(claim))
		c.awaitRefusal()
	})
}

func TestEveryRowIsRefusedOnceTheClaimIsReplaced(t *testing.T) {
	losing(t, harness.Hasty, func(c *cast) {
		claim, _ := c.m.HeadClaim("")
		require.NoError(c.t, os.Rename(claim, claim+".aside"))
		require.NoError(c.t, os.WriteFile(claim, []byte("not a record"), 0o600))
		c.awaitRefusal()
	})
}

// losing plays a situation. lose starts with the former holder holding, its handles open, and returns when it has lost the lease for good.
func losing(t *testing.T, policy harness.Policy, lose func(c *cast)) {
	t.Helper()
	c := newCast(t, harness.MountOptions{Policy: policy, OnFree: "deny", Prepare: prepareStage})
	c.openHandles()
	lose(c)
	c.refuseAll(func(row) bool { return true })
}

// Nobody has ever held: there are no handles, only names.
func TestEveryRowIsRefusedWhereNobodyEverHeld(t *testing.T) {
	c := newCast(t, harness.MountOptions{OnFree: "deny", Prepare: prepareStage})
	c.refuseAll(func(r row) bool { return !r.isHandle() })
}

// A read-only mount refuses the holder of the lease, too, if it grants any.
func TestEveryRowIsRefusedOnAReadOnlyMount(t *testing.T) {
	c := newCast(t, harness.MountOptions{Extra: []string{"--enforce", "readonly"}, Prepare: prepareStage})
	c.refuseAll(func(r row) bool { return !r.isHandle() })
}

// In place the same path that was open to all a moment ago is guarded.
func TestEveryRowIsRefusedInPlaceWhileAnotherHolds(t *testing.T) {
	c := newCast(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: prepareStage})
	c.openHandles()
	c.m.Release(c.former)
	c.m.Acquire(c.usurper)
	c.refuseAll(func(row) bool { return true })
}

// A lease of one worktree opens no other, and neither do handles of the past.
func TestEveryRowIsRefusedToTheHolderOfAnotherWorktree(t *testing.T) {
	c := newCast(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: prepareStage})
	c.worktree = []string{"main"}
	c.openHandles()
	c.m.Release(c.former, "main")
	c.m.Acquire(c.former, "worktrees", "a")
	c.m.Acquire(c.outsider, "worktrees", "b")
	c.refuseAll(func(row) bool { return true })
}

func newCast(t *testing.T, o harness.MountOptions) *cast {
	t.Helper()
	m := harness.NewMount(t, o)
	return &cast{t: t, m: m, former: harness.StartActor(t, "former"), outsider: harness.StartActor(t, "outsider"),
		usurper: harness.StartActor(t, "usurper")}
}

// openHandles lets the outsider hold, open everything and release; then the
// former holder does the same and goes on holding.
func (c *cast) openHandles() {
	c.t.Helper()
	c.openAll(c.outsider)
	c.m.Release(c.outsider, c.worktree...)
	c.openAll(c.former)
	c.openProbe()
}

// refuseAll runs the chosen rows and the reads by both that do not hold.
func (c *cast) refuseAll(choose func(row) bool) {
	c.t.Helper()
	for _, a := range []*harness.Actor{c.former, c.outsider} {
		refuseRows(c.t, a, c.stage(), c.behind(), choose)
		c.t.Run(a.Name+"/reads", func(t *testing.T) {
			assert.Empty(t, failedReads(t, a, c.stage()), "a read was refused")
		})
	}
	c.t.Run("the mount shows what is there", c.sameView)
}

// sameView demands that the mount shows the backing tree and nothing else, not
// even for a while the bytes of a refused store.
func (c *cast) sameView(t *testing.T) {
	harness.EventuallyNoted(t, "the mount shows the backing tree", func() (bool, string) {
		diffs := viewDiff(t, c.m)
		if len(diffs) == 0 {
			return true, ""
		}
		return false, diffs[0]
	})
}

// viewDiff compares the backing tree with what the mount shows of it.
func viewDiff(t testing.TB, m *harness.Mount) []string {
	t.Helper()
	seen := harness.TakeDigest(t, m.Mountpoint, m.Skipped()...)
	return m.Digest().Diff(seen, harness.LeaveChangeTimes, harness.LeaveDirSizes)
}

// The control experiment: where jvsfs only observes, the same rows by the same
// actors without a lease succeed and show. A matrix that cannot fail would
// pass here, too.
func TestEveryRowLandsInObserveMode(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--enforce", "observe"}, Prepare: prepareStage})
	a := harness.StartActor(t, "observed")
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			require.Empty(t, r.opens(t, a, m.Mountpoint).Errno)
			before := m.Digest()
			got := r.runs(t, a, m.Mountpoint)
			assert.Empty(t, got.Errno, got.Note)
			assert.Equal(t, harmless[r.name], len(before.Diff(m.Digest())) == 0, "a trace in the tree")
		})
	}
}
