package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replaced is a lease of ann's with two keepers. The old one follows leader.
func replaced(t *testing.T) (before, next *rig, d *Dir, c *fakeClock) {
	t.Helper()
	d, c = testDir(t), newFakeClock()
	before, next = newRig(t, d, c), newRig(t, d, c)
	before.must(t, ann)
	g, ok, err := before.Follow(bg, Stay)
	require.NoError(t, err)
	require.True(t, ok)
	_, err = next.Join(bg, Save(g, c))
	require.NoError(t, err)
	return before, next, d, c
}

// leads is the Lead of the old keeper: it asks the new one.
func (r *rig) leads(t Token) (time.Duration, bool) {
	g, held := r.Held()
	return g.Deadline, held && g.Token == t
}

func TestTwoKeepersKeepOneLease(t *testing.T) {
	before, next, d, c := replaced(t)
	_, _, err := before.Follow(bg, next.leads)
	require.NoError(t, err)
	next.Resume()
	for range 10 { // much longer than a lease
		c.advance(9 * time.Second)
		next.tick()
		before.tick()
		require.True(t, before.fence.passes())
		require.True(t, next.fence.passes())
		require.LessOrEqual(t, before.fence.grant.Deadline, next.fence.grant.Deadline)
	}
	// The kernel lets nobody take it before both have drained.
	taker := newGateLock(next.cfg.Store)
	defer taker.close()
	requireClass(t, ClassLockConflict, taker.exclusive(bg, time.Millisecond))
	require.NoError(t, next.Release(bg, LossReleased))
	requireClass(t, ClassLockConflict, taker.exclusive(bg, time.Millisecond))
	require.True(t, before.fence.isOpen())
	before.tick()
	require.False(t, before.fence.isOpen())
	require.Equal(t, []LossKind{LossReplaced}, before.fence.kinds())
	require.NoError(t, taker.exclusive(bg, time.Millisecond))
	taker.unlock()
	require.EqualValues(t, 2, newRig(t, d, c).must(t, bob).Token)
}

// A follower neither renews nor releases: the record is the leader's.
func TestAFollowerNeitherRenewsNorReleases(t *testing.T) {
	before, next, _, c := replaced(t)
	was, _, err := next.cfg.Store.readFile(claim1)
	require.NoError(t, err)
	c.advance(15 * time.Second)
	before.tick()
	next.tick()
	require.NoError(t, before.Release(bg, LossReleased))
	require.NoError(t, next.Close())
	after, _, err := next.cfg.Store.readFile(claim1)
	require.NoError(t, err)
	require.Equal(t, was, after)
	require.Equal(t, []LossKind{LossReplaced}, next.fence.kinds())
	require.Empty(t, next.events())
}

// The follower ends at its own deadline, whatever the leader says.
func TestAFollowerEndsAtItsDeadline(t *testing.T) {
	before, next, _, c := replaced(t)
	c.advance(20 * time.Second)
	require.False(t, before.fence.passes())
	before.tick()
	next.tick()
	require.False(t, before.fence.isOpen())
	require.False(t, next.fence.isOpen())
}

func TestAFollowerClosesWhenASuccessorAppears(t *testing.T) {
	before, _, d, _ := replaced(t)
	d.put(t, claim2, "x")
	before.tick()
	require.Equal(t, []LossKind{LossSuperseded}, before.fence.kinds())
}

// If the new keeper does not come up, the old one goes on.
func TestAFollowerRenewsAgainWhenTheNewKeeperDoesNotComeUp(t *testing.T) {
	before, next, _, c := replaced(t)
	c.advance(15 * time.Second)
	require.NoError(t, next.Close())
	before.Resume()
	before.tick()
	require.Equal(t, c.Boot()+20*time.Second, before.fence.grant.Deadline)
	require.True(t, before.fence.passes())
	require.NoError(t, before.Release(bg, LossReleased))
	rec := next.cfg.Store.readRecordFile(claim1).Record
	require.True(t, rec.Released)
}

func TestOnlyALeaseThatIsHeldIsJoined(t *testing.T) {
	for name, change := range map[string]func(*rig, *Dir, *fakeClock, *Saved){
		"over":          func(_ *rig, _ *Dir, c *fakeClock, _ *Saved) { c.advance(20 * time.Second) },
		"another nonce": func(_ *rig, _ *Dir, _ *fakeClock, b *Saved) { b.Nonce = "x" },
		"superseded":    func(_ *rig, d *Dir, _ *fakeClock, _ *Saved) { d.put(t, claim2, "x") },
		"remote":        func(r *rig, _ *Dir, _ *fakeClock, _ *Saved) { r.cfg.Store.dir.tier = tierRemote },
	} {
		d, c := testDir(t), newFakeClock()
		before, next := newRig(t, d, c), newRig(t, d, c)
		b := Save(before.must(t, ann), c)
		change(next, d, c, &b)
		_, err := next.Join(bg, b)
		require.Error(t, err, name)
		require.Empty(t, next.fence.kinds(), name)
		require.False(t, next.fence.isOpen(), name)
		taker := newGateLock(next.cfg.Store)
		before.crash()
		require.NoError(t, taker.exclusive(bg, time.Millisecond), "%s: no lock stays", name)
		taker.close()
	}
}

// Each of the two keepers alone keeps a taker out.
func TestEachOfTwoKeepersHoldsTheGate(t *testing.T) {
	before, next, _, _ := replaced(t)
	before.crash()
	taker := newGateLock(next.cfg.Store)
	defer taker.close()
	requireClass(t, ClassLockConflict, taker.exclusive(bg, time.Millisecond))
}

func TestAFollowerDrainsBeforeItReleasesTheGate(t *testing.T) {
	before, next, _, _ := replaced(t)
	next.crash()
	taker := newGateLock(before.cfg.Store)
	defer taker.close()
	before.fence.onClose = func(Loss) { requireClass(t, ClassLockConflict, taker.exclusive(bg, time.Millisecond)) }
	require.NoError(t, before.Release(bg, LossReleased))
	require.NoError(t, taker.exclusive(bg, time.Millisecond))
}

// Part leaves the record as it is, as a kill does. Another keeper goes on by what was saved.
func TestAKeeperThatPartsLeavesTheRecordAsItIs(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	before := newRig(t, d, c)
	before.Part() // nothing is held: nothing happens
	g := before.must(t, ann)
	b := Save(g, c)
	before.Part()
	require.False(t, before.fence.isOpen())
	_, held := before.Held()
	require.False(t, held)
	next := newRig(t, d, c)
	again, err := next.Adopt(bg, b) // which needs the gate
	require.NoError(t, err)
	require.NoError(t, before.Close())
	require.Equal(t, g.Token, again.Token)
	require.False(t, again.Record.Released)
}
