package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMatrix runs every row in every situation, by the former holder and by
// an outsider, both with handles of their own lost leases: each is refused
// with EROFS and leaves nothing on the backing side. Reads go on throughout.
func TestMatrix(t *testing.T) {
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			c := newCast(t, mountOptions{policy: s.policy, onFree: "deny", prepare: prepareStage})
			c.openHandles()
			s.lose(c)
			c.refuseAll(func(row) bool { return true })
		})
	}
}

// Nobody has ever held: there are no handles, only names.
func TestMatrixFreeWithDenyNeverHeld(t *testing.T) {
	c := newCast(t, mountOptions{onFree: "deny", prepare: prepareStage})
	c.refuseAll(func(r row) bool { return !r.isHandle() })
}

// A read-only mount refuses the holder of the lease, too, if it grants any.
func TestMatrixEnforceReadonly(t *testing.T) {
	c := newCast(t, mountOptions{extra: []string{"--enforce", "readonly"}, prepare: prepareStage})
	c.refuseAll(func(r row) bool { return !r.isHandle() })
}

// In place the same path that was open to all a moment ago is guarded.
func TestMatrixInPlaceAnotherHolds(t *testing.T) {
	c := newCast(t, mountOptions{inPlace: true, onFree: "deny", prepare: prepareStage})
	c.openHandles()
	c.m.release(c.former)
	c.m.acquire(c.usurper)
	c.refuseAll(func(row) bool { return true })
}

// A lease of one worktree opens no other, and neither do handles of the past.
func TestMatrixHolderElsewhere(t *testing.T) {
	c := newCast(t, mountOptions{repository: true, onFree: "deny", prepare: prepareStage})
	c.worktree = []string{"main"}
	c.openHandles()
	c.m.release(c.former, "main")
	c.m.acquire(c.former, "worktrees", "a")
	c.m.acquire(c.outsider, "worktrees", "b")
	c.refuseAll(func(row) bool { return true })
}

func newCast(t *testing.T, o mountOptions) *cast {
	t.Helper()
	m := newMount(t, o)
	return &cast{t: t, m: m, former: startActor(t, "former"), outsider: startActor(t, "outsider"),
		usurper: startActor(t, "usurper")}
}

// openHandles lets the outsider hold, open everything and release; then the
// former holder does the same and goes on holding.
func (c *cast) openHandles() {
	c.t.Helper()
	c.openAll(c.outsider)
	c.m.release(c.outsider, c.worktree...)
	c.openAll(c.former)
	c.openProbe()
}

// refuseAll runs the chosen rows and the reads by both that do not hold.
func (c *cast) refuseAll(choose func(row) bool) {
	c.t.Helper()
	for _, a := range []*actor{c.former, c.outsider} {
		refuseRows(c.t, a, c.stage(), c.behind(), choose)
		c.t.Run(a.name+"/reads", func(t *testing.T) {
			r, err := a.try(command{Op: "reads", Path: c.stage()})
			require.NoError(t, err)
			assert.Empty(t, r.Note, "a read was refused")
		})
	}
	c.t.Run("the mount shows what is there", c.sameView)
}

// sameView demands that the mount shows the backing tree and nothing else, not
// even for a while the bytes of a refused store.
func (c *cast) sameView(t *testing.T) {
	eventuallyNoted(t, "the mount shows the backing tree", func() (bool, string) {
		diffs := viewDiff(t, c.m)
		if len(diffs) == 0 {
			return true, ""
		}
		return false, diffs[0]
	})
}

// viewDiff compares the backing tree with what the mount shows of it.
func viewDiff(t testing.TB, m *mount) []string {
	t.Helper()
	seen := takeDigest(t, m.Mountpoint, m.skipped()...)
	return m.digest().diff(seen, leaveChangeTimes, leaveDirSizes)
}

// The control experiment: where jvsfs only observes, the same rows by the same
// actors without a lease succeed and show. A matrix that cannot fail would
// pass here, too.
func TestObserveRefusesNothing(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", extra: []string{"--enforce", "observe"}, prepare: prepareStage})
	a := startActor(t, "observed")
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			opened, err := a.try(command{Op: "row.open", Path: m.Mountpoint, Name: r.name})
			require.NoError(t, err)
			require.Empty(t, opened.Errno)
			before := m.digest()
			got, err := a.try(command{Op: "row.run", Path: m.Mountpoint, Name: r.name})
			require.NoError(t, err)
			assert.Empty(t, got.Errno, got.Note)
			assert.Equal(t, harmless[r.name], len(before.diff(m.digest())) == 0, "a trace in the tree")
		})
	}
}
