package lease

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// claimsOf are the tokens whose claims exist.
func claimsOf(t *testing.T, d *Dir) []Token {
	t.Helper()
	tokens, err := d.Store("main").claims(0, record.MostToken)
	require.NoError(t, err)
	return tokens
}

// passOn lets n writers hold and end, one after the other, and then one more, who goes on.
func passOn(t *testing.T, r *rig, n int) {
	t.Helper()
	for i := range n {
		r.must(t, writer(fmt.Sprint("w", i), 100+i))
		r.live = Gone
		r.tick()
		r.live = Alive
		r.tick()
	}
	r.must(t, writer("last", 99))
	r.tick()
}

// Writers come and go and use many tokens. The lock directory has a bounded number of names, and the tokens go on.
func TestClaimsThatShowNoRevocationAreSwept(t *testing.T) {
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	passOn(t, r, 400)
	g, held := r.Held()
	require.True(t, held)
	require.EqualValues(t, 401, g.Token)
	left := claimsOf(t, d)
	require.LessOrEqual(t, len(left), ClaimsKept+sweepBehind+2)
	require.Equal(t, []Token{399, 400, 401}, left[len(left)-3:], "the newest stay")
	for range 100 { // it holds on, and Run looks again and again
		r.tick()
	}
	require.Len(t, claimsOf(t, d), ClaimsKept)
	names, err := d.names()
	require.NoError(t, err)
	require.Less(t, len(names), ClaimsKept+8)
}

// A new keeper sweeps claims that an earlier version left, in small steps.
func TestClaimsOfAnEarlierVersionAreSwept(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	old := newRig(t, d, c)
	old.swept.keep = record.MostToken // it never sweeps
	passOn(t, old, 400)
	old.crash()
	c.advance(record.DefaultPolicy().Silence() * 2)
	r := newRig(t, d, c)
	r.must(t, writer("new", 7))
	r.tick()
	require.Greater(t, len(claimsOf(t, d)), 300, "a step is short")
	require.Equal(t, sweepPause, r.nextWake(), "the next comes soon")
	for range 100 {
		r.tick()
	}
	require.Len(t, claimsOf(t, d), ClaimsKept)
	past, err := r.Past(0, 402)
	require.NoError(t, err)
	require.Equal(t, PastTaken, past[len(past)-2].End, "who was killed and robbed is known")
}

// Three kinds of claim show who is revoked and stay: a lost one, the one after it, and one that was taken on purpose. A claim that
// cannot be read stays, too.
func TestClaimsThatShowARevocationAreNotSwept(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r := newRig(t, d, c)
	r.swept.keep = 2
	r.must(t, writer("robbed", 50)) // 1
	r.own().close()
	r.crash()
	c.advance(record.DefaultPolicy().Silence() * 2)
	r = newRig(t, d, c)
	r.swept.keep = 2
	r.must(t, writer("thief", 51)) // 2
	require.NoError(t, r.Release(bg, LossReleased))
	r.must(t, ann) // 3
	require.NoError(t, r.Release(bg, LossReleased))
	d.put(t, "main.claim.00000000000000000004", "not a record")
	h := d.Store("main").readRecordFile("main.claim.00000000000000000004")
	require.Error(t, h.Unreadable)
	repair := &UnderGate{store: d.Store("main")}
	require.NoError(t, repair.Follow(4, record.DefaultPolicy(), c.Wall())) // 5
	passOn(t, r, 30)
	for range 30 {
		r.tick()
	}
	require.Equal(t, []Token{1, 2, 3, 4, 5}, claimsOf(t, d)[:5])
	require.Len(t, claimsOf(t, d), 7)
	past, err := r.Past(0, record.MostToken)
	require.NoError(t, err)
	require.Equal(t, PastTaken, past[0].End)
}

// Of the claims that say something, the newest stay: as many as Past reads.
func TestOldClaimsThatShowARevocationAreSweptInTheEnd(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r := newRig(t, d, c)
	r.swept.keep = PastKept - 3
	d.put(t, "main.claim.00000000000000000001", "") // and this cannot be read
	for range 8 {
		repair := &UnderGate{store: d.Store("main")}
		top, err := repair.Highest()
		require.NoError(t, err)
		require.NoError(t, repair.Follow(top, record.DefaultPolicy(), c.Wall()))
	}
	for i := range Token(6) {
		r.swept.look(d.Store("main"), i+1)
	}
	require.Equal(t, []Token{1, 4, 5, 6, 7, 8, 9}, claimsOf(t, d))
}

// A keeper that does not hold sweeps nothing. On a file system that other kernels write nobody sweeps.
func TestOnlyAHolderOnOneKernelSweepsClaims(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r := newRig(t, d, c)
	r.swept.keep = 2
	require.False(t, r.sweeps())
	r.must(t, ann)
	require.True(t, r.sweeps())
	d.tier = tierRemote
	require.False(t, r.sweeps())
	d.tier = tierA
	r.cur.open = false
	require.False(t, r.sweeps())
	r.cur.open = true
	r.cur.handing = true // offered: LOCK_SH is not held
	require.False(t, r.sweeps())
	r.cur.handing = false
	r.following = &follower{r.Keeper, Stay}
	require.False(t, r.sweeps())
	r.following = nil
	require.NoError(t, r.Release(bg, LossReleased))
	require.False(t, r.sweeps())
}

// If tokens were raised, the sweeper lists the directory instead of counting through them.
func TestAJumpOfTokensIsNotCountedThrough(t *testing.T) {
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	passOn(t, r, 100)
	for range 100 {
		r.tick()
	}
	require.NoError(t, r.Release(bg, LossReleased))
	repair := &UnderGate{store: d.Store("main")}
	require.NoError(t, repair.Follow(1_000_000, record.DefaultPolicy(), r.cfg.Clock.Wall()))
	passOn(t, r, 100)
	for range 100 {
		r.tick()
	}
	g, held := r.Held()
	require.True(t, held)
	require.LessOrEqual(t, r.swept.behind(g.Token), 0)
	require.Len(t, claimsOf(t, d), ClaimsKept+1, "and the one that was made by hand, which says something")
}
