package lease

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A conflict names who holds now, also when this keeper has not noticed yet that another host took over from it.
func TestAConflictNamesWhoTookOver(t *testing.T) {
	for _, auto := range []bool{false, true} {
		d, c := testDir(t), newFakeClock()
		d.tier = tierRemote
		a, b := newRig(t, d, c), newRig(t, d, c)
		a.must(t, ann)
		require.NoError(t, a.cur.claim.Release(Releasing{At: c.Wall(), Pause: func(string) {}})) // what the store shows of a taken lease; a does not know
		a.gate.unlock()
		eve := person("eve", 30)
		b.must(t, eve)
		h := bob
		h.Auto = auto
		_, err := a.Acquire(bg, h)
		requireClass(t, ClassLockConflict, err)
		require.Contains(t, err.Error(), "eve")
		require.NotContains(t, err.Error(), "ann")
		if !auto { // a writer's request does not close the fence
			require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
		} else {
			require.Empty(t, a.fence.kinds())
			a.tick()
			require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
		}
	}
}
