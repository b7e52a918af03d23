package lease

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// orphaned is a lease of ann's whose daemon was killed, and what it left behind.
func orphaned(t *testing.T, d *Dir, c *fakeClock, change ...func(*KeeperConfig)) (Saved, *rig) {
	t.Helper()
	dead := newRig(t, d, c, change...)
	b := Save(dead.must(t, ann), c)
	dead.crash()
	return b, newRig(t, d, c, change...)
}

func TestAdoptGoesOnUnderTheSameToken(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	b, next := orphaned(t, d, c)
	c.advance(19 * time.Second)
	claims, _, err := next.cfg.Store.readFile(claim1)
	require.NoError(t, err)
	g, err := next.Adopt(bg, b)
	require.NoError(t, err)
	require.EqualValues(t, 1, g.Token)
	require.Equal(t, b.Deadline, g.Deadline, "an adoption alone does not make the lease longer")
	require.Equal(t, b.Nonce, g.Record.HolderNonce)
	require.True(t, next.fence.passes())
	after, _, err := next.cfg.Store.readFile(claim1)
	require.NoError(t, err)
	require.Equal(t, claims, after, "nothing is written by an adoption")
	require.Equal(t, []string{"acquire"}, next.events())

	// It holds the gate as any holder does, and renews at once.
	taker := newGateLock(next.cfg.Store)
	defer taker.close()
	requireClass(t, ClassLockConflict, taker.exclusive(bg, time.Millisecond))
	next.tick()
	require.Equal(t, c.Boot()+20*time.Second, next.fence.grant.Deadline)
	require.NoError(t, next.Release(bg, LossReleased))
	require.EqualValues(t, 2, next.must(t, bob).Token)
}

// The dead keeper may have renewed after its last note: the record may be younger than what was saved.
func TestAdoptTakesARecordThatWasRenewedAfterTheNote(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	dead := newRig(t, d, c)
	b := Save(dead.must(t, ann), c)
	c.advance(10 * time.Second)
	_, err := dead.Renew(bg)
	require.NoError(t, err)
	dead.crash()
	c.advance(9 * time.Second)
	next := newRig(t, d, c)
	g, err := next.Adopt(bg, b)
	require.NoError(t, err)
	require.Equal(t, b.Deadline, g.Deadline)
	next.tick()
	require.True(t, next.fence.passes())
}

func TestALeaseIsAdoptedOnlyBeforeItsDeadline(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(*fakeClock, *Saved)
		want Class
	}{
		"at the deadline":        {func(c *fakeClock, b *Saved) { c.advance(20 * time.Second) }, ClassLockExpired},
		"the wall clock was set": {func(c *fakeClock, b *Saved) { c.stepWall(-3 * time.Second) }, ClassLockExpired},
		"noted by another boot": {func(c *fakeClock, b *Saved) {
			b.Boot, b.Deadline, b.Wall = b.Boot+time.Hour, b.Deadline+time.Hour, b.Wall.Add(time.Hour)
		}, ClassLockExpired},
		"a deadline that nobody ever gave": {func(c *fakeClock, b *Saved) { b.Deadline += 2 * record.MaxSpan }, ClassLockExpired},
	} {
		d, c := testDir(t), newFakeClock()
		b, next := orphaned(t, d, c)
		change.do(c, &b)
		_, err := next.Adopt(bg, b)
		require.Equal(t, change.want, ClassOf(err), "%s: %v", name, err)
		require.False(t, next.fence.isOpen(), name)
		require.Equal(t, []LossKind{LossExpired}, next.fence.kinds(), name)
		require.Equal(t, []string{"expire"}, next.events(), name)
		_, held := next.Held()
		require.False(t, held, name)

		// Others wait for skew and grace. The holder itself may acquire at once, with the next token.
		_, err = next.Acquire(bg, bob)
		require.Error(t, err, name)
		require.EqualValues(t, 2, next.must(t, ann).Token, name)
	}
}

func TestOnlyTheVeryRecordIsAdopted(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(*testing.T, *Dir, *fakeClock, *Saved)
		kind LossKind
	}{
		"superseded": {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) {
			c.advance(time.Minute)
			o := newRig(t, d, c)
			_, err := o.Steal(bg, bob)
			require.NoError(t, err)
			o.crash()
		}, LossSuperseded},
		"another nonce":   {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) { b.Nonce = record.NewNonce() }, LossSuperseded},
		"another session": {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) { b.SessionID = "x" }, LossSuperseded},
		"another token":   {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) { b.Token = 7 }, LossSuperseded},
		"rewritten":       {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) { d.put(t, claim1, rivalRecord(t, 1)) }, LossSuperseded},
		"another's name":  {forged(func(r *record.Record) { r.HolderID = "far:eve:1:2" }), LossSuperseded},
		"nobody's name":   {forged(func(r *record.Record) { r.HolderID = "a:b:-1:18446744073709551616" }), LossSuperseded},
		"another user":    {forged(func(r *record.Record) { r.UID = 4711 }), LossSuperseded},
		"another machine": {forged(func(r *record.Record) { r.HostBootID = "x" }), LossSuperseded},
		"everybody":       {forged(func(r *record.Record) { r.Scope, r.ScopeKey = "mount", "" }), LossSuperseded},
		"gone": {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) {
			require.NoError(t, unix.Unlinkat(d.fd, claim1, 0))
		}, LossSuperseded},
		"unreadable": {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) { d.put(t, claim1, "{") }, LossExpired},
		"released": {func(t *testing.T, d *Dir, c *fakeClock, b *Saved) {
			s, h := leftHead(t, d)
			_, err := s.ReleaseOrphan(bg, c, h)
			require.NoError(t, err)
		}, LossReleased},
	} {
		d, c := testDir(t), newFakeClock()
		b, next := orphaned(t, d, c)
		change.do(t, d, c, &b)
		_, err := next.Adopt(bg, b)
		require.Error(t, err, name)
		require.False(t, next.fence.isOpen(), name)
		require.Equal(t, []LossKind{change.kind}, next.fence.kinds(), name)
		require.Equal(t, ann.PID, next.fence.losses[0].Holder.PID, "%s: it is told whose loss it is", name)
	}
}

// forged changes the head claim as somebody does who can write the lock directory.
func forged(change func(*record.Record)) func(*testing.T, *Dir, *fakeClock, *Saved) {
	return func(t *testing.T, d *Dir, _ *fakeClock, _ *Saved) {
		t.Helper()
		_, h := leftHead(t, d)
		change(h.Record)
		text, err := json.Marshal(h.Record)
		require.NoError(t, err)
		d.put(t, claim1, string(text))
	}
}

// A lease by writing may have been taken on purpose after it was noted.
func TestAdoptTakesALeaseThatWasAcquiredOnPurposeSince(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, next := newRig(t, d, c), newRig(t, d, c)
	b := Save(a.must(t, auto(ann)), c)
	now := ann
	now.Scope, now.ScopeKey, now.Purpose = "session", "77", "build"
	a.must(t, now)
	a.crash()
	g, err := next.Adopt(bg, b)
	require.NoError(t, err)
	require.Equal(t, "session", g.Holder.Scope)
	require.False(t, g.Holder.Auto)
}

func TestAdoptReleasesForAHolderThatHasEnded(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	b, next := orphaned(t, d, c)
	next.live = Gone
	_, err := next.Adopt(bg, b)
	requireClass(t, ClassLockNotHeld, err)
	require.Equal(t, []LossKind{LossHolderGone}, next.fence.kinds())
	require.EqualValues(t, 2, next.must(t, bob).Token, "nobody has to wait for it to expire")
}

// A stopped holder keeps its lease until its deadline.
func TestAdoptDoesNotRenewForAStoppedHolder(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	b, next := orphaned(t, d, c)
	next.live = Stopped
	_, err := next.Adopt(bg, b)
	require.NoError(t, err)
	next.tick()
	require.True(t, next.fence.passes())
	require.Equal(t, b.Deadline, next.fence.grant.Deadline)
	stopInTime(next)
	require.Equal(t, []LossKind{LossPaused}, next.fence.kinds())
}

// A process that still holds the gate may still write: the dead daemon's last thread, or a taker.
func TestALeaseIsNotAdoptedWhileAnotherHasTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := testDir(t), newFakeClock()
		dead := newRig(t, d, c)
		b := Save(dead.must(t, ann), c)
		next := newRig(t, d, c)
		soon, cancel := context.WithTimeout(bg, 5*time.Millisecond) // in the time of a bubble: it ends while somebody waits
		defer cancel()
		_, err := next.Adopt(soon, b)
		requireClass(t, ClassLockConflict, err)
		require.False(t, next.fence.isOpen())
		require.True(t, dead.fence.passes(), "a holder that lives is not disturbed")
		dead.crash()
		_, err = next.Adopt(bg, b)
		require.NoError(t, err)
		_, err = next.Adopt(bg, b)
		requireClass(t, ClassLockConflict, err)
	})
}

// What a client of the store had read that has ended since may reach the store at any time. So its lease is not gone on with by another one:
// it runs out unreleased, and whoever takes it over has that client cut off (rule 17).
func TestALeaseIsAdoptedOnlyThroughTheSameClient(t *testing.T) {
	for _, x := range []struct {
		then, now string
		goesOn    bool
	}{
		{"client.1", "client.1", true},
		{"client.1", "client.2", false},
		{"", "client.2", true},
		{"client.1", "", true}, // it cannot be told
		{"client.1", "no\nname", true},
	} {
		d, c, name := testDir(t), newFakeClock(), x.then
		b, next := orphaned(t, d, c, func(k *KeeperConfig) { k.StoreClient = func() string { return name } })
		name = x.now
		_, err := next.Adopt(bg, b)
		require.Equal(t, x.goesOn, err == nil, "%+v: %v", x, err)
		if x.goesOn {
			continue
		}
		requireClass(t, ClassLockConflict, err)
		require.ErrorContains(t, err, "another client of the store (client.1)")
		require.Equal(t, []LossKind{LossExpired}, next.fence.kinds())
		h, _ := next.Observe()
		require.False(t, h.Record.Released)
	}
}
