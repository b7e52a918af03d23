package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Each test of rules_*_test.go checks one clause of the rules in doc.go that no other test checks. integration/mutation removes the
// clauses one by one and says which test noticed.

const (
	claim1 = "main.claim.00000000000000000001"
	claim2 = "main.claim.00000000000000000002"
	claim9 = "main.claim.00000000000000000009"
)

// once calls f when a keeper comes to the point for the first time.
func (r *rig) once(point string, f func()) {
	done := false
	r.cfg.Pause = func(p string) {
		if p == point && !done {
			done = true
			f()
		}
	}
}

// rivalRecord is a record that somebody else made of token t.
func rivalRecord(t testing.TB, token Token, change ...func(*record.Record)) string {
	r := anyRecord()
	r.FencingToken, r.HolderID = token, "far:eve:1:2"
	for _, f := range change {
		f(r)
	}
	b, err := r.Encode()
	require.NoError(t, err)
	return string(b)
}

func (d *Dir) id(t testing.TB, name string) fileID {
	t.Helper()
	id, err := d.Store("main").lookup(name)
	require.NoError(t, err)
	return id
}

// gateFree is whether a taker would get the gate now.
func gateFree(t require.TestingT, d *Dir) bool {
	probe := newGateLock(d.Store("main"))
	defer probe.close()
	had, err := probe.store.try(&probe.gate, unix.LOCK_EX)
	require.NoError(t, err)
	return had
}

// Rule 1. Somebody removes <id>.lock of a holder that has just crashed. Its lease still lasts.
func TestALeaseLastsWithoutItsView(t *testing.T) {
	c := newFakeClock()
	d := left(t, c, tierA)
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	_, err := newRig(t, d, c).Acquire(bg, bob)
	requireClass(t, ClassLockConflict, err)
}

// Rule 1. A tool that edits the view in place writes the holder's own inode.
func TestAClaimThatCarriesAnothersRecordIsLost(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"nonce":    func(r *record.Record) { r.HolderNonce = "theirs" },
		"session":  func(r *record.Record) { r.SessionID = "theirs" },
		"token":    func(r *record.Record) { r.FencingToken = 41 },
		"released": func(r *record.Record) { r.Released = true },
	} {
		t.Run(name, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			a := newRig(t, d, c)
			a.must(t, ann)
			rec := a.own().rec.Clone()
			change(rec)
			theirs, err := rec.Encode()
			require.NoError(t, err)
			_, err = unix.Pwrite(a.own().fd, theirs, 0)
			require.NoError(t, err)
			_, err = a.Renew(bg)
			requireClass(t, ClassLockNotHeld, err)
			require.False(t, a.fence.isOpen())
			b, _, err := d.Store("main").readFile(claim1)
			require.NoError(t, err)
			require.Equal(t, string(theirs), string(b), "what they wrote stays")
		})
	}
}

// Rule 1. If a store caches attributes, stamps may be old. The next token's name is looked at in any case.
func TestTheNextTokensNameIsLookedAtWithOldStamps(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	d.put(t, claim2, "x")
	a.own().above = stillness{stamp: d.Store("main").stamp("."), clear: true}
	a.tick()
	require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
}

// Rule 1. There may be a gap in the claims: somebody removed some, or a token was above a foreign view's.
func TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = tierRemote
	a := newRig(t, d, c)
	g := a.must(t, ann)
	require.NoError(t, g.Late())
	a.tick()
	require.True(t, a.fence.isOpen())
	d.put(t, claim9, "x")
	requireClass(t, ClassLockNotHeld, g.Late())
	a.tick()
	require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())

	// The same with a foreign view.
	d = testDir(t)
	d.tier = tierRemote
	a = newRig(t, d, c)
	g = a.must(t, ann)
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	d.put(t, "main.lock", rivalRecord(t, 41))
	requireClass(t, ClassLockNotHeld, g.Late())
}

// A listing is saved only if an earlier one began when the stamp was old enough to prove that nothing has changed since.
func TestListingsAreSavedWhileTheDirectoryStandsStill(t *testing.T) {
	var s stillness
	listed, found, failed := 0, false, error(nil)
	look := func(size int64, now time.Duration) int {
		listed = 0
		stamp := stampOf{size: size}
		if size != 0 {
			stamp.ctime.Nsec = 1
		}
		_, _ = s.unlessStill(stamp, now, func() (bool, error) { listed++; return found, failed })
		return listed
	}
	require.Equal(t, 1, look(1, 0))
	require.Equal(t, 1, look(1, racy-1), "a second change within one tick leaves no trace")
	failed = errors.New("too many open files")
	require.Equal(t, 1, look(1, racy))
	failed = nil
	require.Equal(t, 1, look(1, racy))
	require.Zero(t, look(1, racy))
	require.Equal(t, 1, look(2, racy), "it has moved")
	require.Equal(t, 1, look(1, 2*racy), "and moved back")
	found = true
	require.Equal(t, 1, look(1, 3*racy))
	require.Equal(t, 1, look(1, 3*racy), "what was found stays found")
	found = false
	require.Equal(t, 1, look(0, 4*racy))
	require.Equal(t, 1, look(0, 9*racy), "a stamp that cannot be read is never still")
}

// How long a stamp must have been seen depends on the store. MooseFS stamps in whole seconds.
func TestAStampOfWholeSecondsIsTrustedLater(t *testing.T) {
	at := func(mtime, ctime int64) stampOf {
		return stampOf{size: 1, mtime: unix.Timespec{Sec: 7, Nsec: mtime}, ctime: unix.Timespec{Sec: 7, Nsec: ctime}}
	}
	for name, c := range map[string]struct {
		stamp stampOf
		after time.Duration // it is trusted
	}{
		"nanoseconds":             {at(123, 456), racy},
		"ticks":                   {at(4_000_000, 4_000_000), racy},
		"whole seconds":           {at(0, 0), time.Second + racy},
		"a time that was set":     {at(0, 456), racy},
		"a change without a time": {at(123, 0), racy},
	} {
		t.Run(name, func(t *testing.T) {
			var s stillness
			look := func(now time.Duration) (listed int) {
				_, _ = s.unlessStill(c.stamp, now, func() (bool, error) { listed++; return false, nil })
				return listed
			}
			require.Equal(t, 1, look(time.Hour))
			require.Equal(t, 1, look(time.Hour+c.after-1), "another change may have the same stamp")
			require.Equal(t, 1, look(time.Hour+c.after))
			require.Zero(t, look(time.Hour+c.after))
		})
	}
}

// On a store of whole seconds a look at the view stands for a listing, for a moment after one that found nothing.
func TestTheViewSparesListingsOnAStoreOfWholeSeconds(t *testing.T) {
	fine, coarse := stampOf{size: 1, ctime: unix.Timespec{Sec: 7, Nsec: 1}}, stampOf{size: 1, ctime: unix.Timespec{Sec: 7}}
	for name, x := range map[string]struct {
		stamp  stampOf
		found  bool
		after  time.Duration
		own    bool
		spared bool
	}{
		"the own view":         {coarse, false, racy - 1, true, true},
		"another's view":       {coarse, false, racy - 1, false, false},
		"a while later":        {coarse, false, racy, true, false},
		"something was found":  {coarse, true, racy - 1, true, false},
		"a store of fine ones": {fine, false, racy - 1, true, false},
	} {
		var s stillness
		require.False(t, s.spares(x.stamp, time.Hour, func() bool { return true }), "%s: nothing was listed", name)
		_, _ = s.unlessStill(x.stamp, time.Hour, func() (bool, error) { return x.found, nil })
		require.Equal(t, x.spared, s.spares(x.stamp, time.Hour+x.after, func() bool { return x.own }), name)
		require.False(t, s.spares(stampOf{size: 2}, time.Hour+1, func() bool { return true }), "%s: the directory has changed", name)
	}
	var s stillness
	for _, at := range []time.Duration{0, time.Second + racy} {
		_, _ = s.unlessStill(coarse, time.Hour+at, func() (bool, error) { return false, nil })
	}
	require.False(t, s.spares(coarse, time.Hour+time.Second+racy+1, func() bool { t.Error("it was looked at the view"); return true }), "it is still")
}

// Rule 1.
func TestAClaimWithASuccessorDoesNotOpenTheFence(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.once("claim.after_publish", func() { d.put(t, claim9, "x") })
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassLockNotHeld, err)
	require.False(t, a.fence.isOpen())
	require.True(t, gateFree(t, d))
}

// Rule 2. The holder's renewal lands between the thief's first look and the gate (another host's, or one that was late).
func TestTheLookUnderTheGateSeesARenewal(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	own := a.own()
	defer own.close()
	a.crash()
	c.advance(34 * time.Second)
	b.once("acquire.before_gate", func() {
		rec := own.rec.Clone()
		rec.LastRenewedAt, rec.LeaseExpiresAt = c.Wall(), c.Wall().Add(30*time.Second)
		require.NoError(t, own.rewrite(rec))
	})
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassClockSkewExceeded, err)
	h, _ := b.Observe()
	require.EqualValues(t, 1, h.Token)
}

// Rules 2 and 8. Time that the disk takes shortens the holder's own lease.
func TestDeadlinesCountFromBeforeTheRecordIsWritten(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	t0 := c.Boot()
	a.once("claim.before_link", func() { c.advance(5 * time.Second) })
	require.Equal(t, t0+20*time.Second, a.must(t, ann).Deadline)
	t0 = c.Boot()
	a.once("renew.after_write", func() { c.advance(3 * time.Second) })
	_, err := a.Renew(bg)
	require.NoError(t, err)
	require.Equal(t, t0+20*time.Second, a.fence.grant.Deadline)
}

// Rule 2. A server may have done a link although its reply is lost.
func TestALinkIsJudgedByTheNameNotByItsReply(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.once("claim.before_link", func() {
		names, err := d.names()
		require.NoError(t, err)
		for _, name := range names {
			if strings.Contains(name, ".tmp.") {
				require.NoError(t, unix.Linkat(d.fd, name, d.fd, claim1, 0))
			}
		}
	})
	require.EqualValues(t, 1, a.must(t, ann).Token)
	require.NoError(t, a.Release(bg, LossReleased))

	theirs := rivalRecord(t, 2)
	a.once("claim.before_link", func() { d.put(t, claim2, theirs) })
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "far:eve:1:2")
	require.False(t, a.fence.isOpen())
	b, _, err := d.Store("main").readFile(claim2)
	require.NoError(t, err)
	require.Equal(t, theirs, string(b))
}

// Rule 2.
func TestAClaimThatTookLongerThanItLastsDoesNotOpenTheFence(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.once("claim.after_publish", func() { c.advance(20 * time.Second) })
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassLockExpired, err)
	_, held := a.Held()
	require.False(t, held || a.fence.isOpen())
	require.EqualValues(t, 2, b.must(t, bob).Token, "what was not armed is given back at once")
}

// Rule 2. A publisher slept and finds its successor's view. It must not leave its own view in its place.
func TestALatePublisherPutsTheHeadsViewBack(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.once("claim.after_link", func() {
		d.put(t, claim2, rivalRecord(t, 2))
		require.NoError(t, unix.Linkat(d.fd, claim2, d.fd, "main.lock", 0))
	})
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassLockNotHeld, err)
	require.Equal(t, d.id(t, claim2), d.id(t, "main.lock"))
}

// Rule 4. The view is part of a claim: a renewal must not repair the view in the middle of another's claim.
func TestTheGateIsHeldFromTheSecondLookUntilTheViewIsThere(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	points := map[string]bool{}
	a.cfg.Pause = func(p string) {
		if strings.HasPrefix(p, "claim.") {
			points[p] = true
			require.False(t, gateFree(t, d), p)
		}
	}
	a.must(t, ann)
	require.Len(t, points, 4)
}

// Rule 4. Without the turn, many holders that take LOCK_SH would starve a taker.
func TestATakerIsNotStarvedByHolders(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	first := newGateLock(d.Store("main"))
	defer first.close()
	require.NoError(t, first.takeTurn(bg, time.Millisecond))
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "main.turn")
	first.unlock()
	a.must(t, ann)
}

// Rule 4. An interrupted epoch has dropped LOCK_SH, so a taker may have the gate.
func TestNoEpochReopensWhileATakerHasTheGate(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	require.NoError(t, unix.Renameat(d.fd, claim1, d.fd, "aside"))
	_, err := a.Renew(bg)
	require.Error(t, err)
	require.NoError(t, unix.Renameat(d.fd, "aside", d.fd, claim1))
	taker := newGateLock(d.Store("main"))
	defer taker.close()
	require.NoError(t, taker.exclusive(bg, time.Millisecond))
	_, err = a.Renew(bg)
	requireClass(t, ClassLockConflict, err)
	require.False(t, a.fence.isOpen())
	taker.unlock()
	_, err = a.Renew(bg)
	require.NoError(t, err)
	require.True(t, a.fence.isOpen())
	require.False(t, gateFree(t, d))
}

// Rule 4. If the gate's name is another file now, a taker and the holder would not exclude each other.
func TestAGateFileThatWasRemovedFailsClosed(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	require.NoError(t, unix.Unlinkat(d.fd, "main.gate", 0))
	_, err := a.Renew(bg)
	requireClass(t, ClassStoreFailed, err)
	require.False(t, a.fence.isOpen())
}

// Rule 4. If a taker has an old file open, it opens the file that has the name now.
func TestATakerLocksTheFileThatHasTheGatesName(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	b.must(t, bob)
	require.NoError(t, b.Release(bg, LossReleased))
	require.NoError(t, unix.Unlinkat(d.fd, "main.gate", 0))
	a.must(t, ann)
	c.advance(time.Minute) // a is paused
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "main.gate")
}

// After a Replace that failed, Held says who holds.
func TestReplaceThatFailsSaysWhoHolds(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	other := newGateLock(d.Store("main"))
	defer other.close()
	a.must(t, ann)
	require.NoError(t, other.takeTurn(bg, time.Millisecond))
	_, err := a.Replace(bg, 1, bob)
	requireClass(t, ClassLockConflict, err)
	_, held := a.Held()
	require.True(t, held && a.fence.passes(), "nothing changed before the turn was had")

	// A process that breaks the rules has the gate, too.
	other.unlock()
	had, err := other.store.try(&other.gate, unix.LOCK_SH)
	require.NoError(t, err)
	require.True(t, had)
	_, err = a.Replace(bg, 1, bob)
	requireClass(t, ClassLockConflict, err)
	_, held = a.Held()
	require.False(t, held || a.fence.isOpen())
	_, j := a.Observe()
	require.Equal(t, Free, j.State)
}

// Rule 4. If a conversion fails, the old lock is gone (flock(2)). While Replace converts its lock, the fence is closed and has drained.
// After the failure no lock is left.
func TestTheFenceIsClosedWhileTheGatesLockIsConverted(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	other, taker := newGateLock(d.Store("main")), newGateLock(d.Store("main"))
	defer other.close()
	defer taker.close()
	a.must(t, ann)
	a.fence.onClose = func(Loss) {
		require.False(t, gateFree(t, d), "the lock is there until the fence has closed")
		had, err := other.store.try(&other.gate, unix.LOCK_SH) // so that the conversion must fail
		require.NoError(t, err)
		require.True(t, had)
	}
	_, err := a.Replace(bg, 1, bob)
	requireClass(t, ClassLockConflict, err)
	require.False(t, a.fence.isOpen())
	other.unlock()
	require.NoError(t, taker.exclusive(bg, time.Millisecond), "no lock stays")
}
