package lease

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// leftHead is the head that a command finds after another took the lease and ended.
func leftHead(t *testing.T, d *Dir) (*Store, Head) {
	t.Helper()
	s := d.Store("main")
	h, err := s.Head()
	require.NoError(t, err)
	require.NotNil(t, h.Record)
	return s, h
}

func TestAnOrphanIsRenewedAndReleased(t *testing.T) {
	c := newFakeClock()
	d := left(t, c, tierA)
	s, h := leftHead(t, d)
	c.advance(29 * time.Second)
	rec, err := s.RenewOrphan(bg, c, record.DefaultPolicy(), h)
	require.NoError(t, err)
	require.Equal(t, c.Wall().Add(30*time.Second), rec.LeaseExpiresAt)
	require.EqualValues(t, 1, rec.RenewCount)
	rec, err = s.ReleaseOrphan(bg, c, h)
	require.NoError(t, err)
	require.True(t, rec.Released)
	_, err = s.lookup("main.lock")
	require.ErrorIs(t, err, unix.ENOENT)

	// The head is an old one now: neither call changes anything.
	before, _, err := s.readFile(claim1)
	require.NoError(t, err)
	_, err = s.RenewOrphan(bg, c, record.DefaultPolicy(), h)
	requireClass(t, ClassLockNotHeld, err)
	_, err = s.ReleaseOrphan(bg, c, h)
	requireClass(t, ClassLockNotHeld, err)
	after, _, err := s.readFile(claim1)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.EqualValues(t, 2, newRig(t, d, c).must(t, bob).Token)
}

func TestAnOrphanIsRenewedOnlyInTime(t *testing.T) {
	for name, change := range map[string]struct {
		clock func(*fakeClock) Clock
		want  Class
	}{
		"over":                     {func(c *fakeClock) Clock { c.advance(31 * time.Second); return c }, ClassLockExpired},
		"over when it was written": {func(c *fakeClock) Clock { return &slowRead{fakeClock: c, at: 1, takes: time.Minute} }, ClassLockExpired},
		"slow, and the wall clock was set back": {func(c *fakeClock) Clock {
			return &slowRead{fakeClock: c, at: 1, takes: 31 * time.Second, after: func() { c.stepWall(-time.Minute) }}
		}, ClassLockExpired},
		"the wall clock was set on": {func(c *fakeClock) Clock {
			return &slowRead{fakeClock: c, at: 1, after: func() { c.stepWall(time.Minute) }}
		}, ClassLockExpired},
		"the clock was set back": {func(c *fakeClock) Clock { c.stepWall(-time.Hour); return c }, ClassClockSkewExceeded},
	} {
		c := newFakeClock()
		s, h := leftHead(t, left(t, c, tierA))
		_, err := s.RenewOrphan(bg, change.clock(c), record.DefaultPolicy(), h)
		require.Equal(t, change.want, ClassOf(err), "%s: %v", name, err)
	}
}

func TestAnOrphanThatChangedHandsIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Dir){
		"superseded":         func(t *testing.T, d *Dir) { d.put(t, claim2, "x") },
		"superseded further": func(t *testing.T, d *Dir) { d.put(t, claim9, "x") },
		"replaced": func(t *testing.T, d *Dir) {
			require.NoError(t, unix.Unlinkat(d.fd, claim1, 0))
			d.put(t, claim1, rivalRecord(t, 1))
		},
		"rewritten": func(t *testing.T, d *Dir) { d.put(t, claim1, rivalRecord(t, 1)) },
	} {
		c := newFakeClock()
		d := left(t, c, tierA)
		s, h := leftHead(t, d)
		change(t, d)
		before, _, err := s.readFile(claim1)
		require.NoError(t, err)
		_, err = s.RenewOrphan(bg, c, record.DefaultPolicy(), h)
		require.Equal(t, ClassLockNotHeld, ClassOf(err), "%s: %v", name, err)
		_, err = s.ReleaseOrphan(bg, c, h)
		require.Equal(t, ClassLockNotHeld, ClassOf(err), "%s: %v", name, err)
		after, _, err := s.readFile(claim1)
		require.NoError(t, err)
		require.Equal(t, before, after, name)
	}
}

// A lease with a running keeper cannot be released by a command. A command may renew it.
func TestALeaseWithAKeeperIsNotReleasedBehindItsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := testDir(t), newFakeClock()
		a := newRig(t, d, c)
		a.must(t, ann)
		s, h := leftHead(t, d)
		soon, cancel := context.WithTimeout(bg, 5*time.Millisecond) // in the time of a bubble: it ends while somebody waits
		defer cancel()
		_, err := s.ReleaseOrphan(soon, c, h)
		requireClass(t, ClassLockConflict, err)
		require.Contains(t, err.Error(), "(running)")
		_, err = s.RenewOrphan(bg, c, record.DefaultPolicy(), h)
		require.NoError(t, err)
		c.advance(time.Second)
		_, err = a.Renew(bg)
		require.NoError(t, err, "two who renew one lease are not in each other's way")

		taker := newGateLock(s)
		defer taker.close()
		a.gate.unlock()
		require.NoError(t, taker.exclusive(bg, time.Millisecond))
		_, err = s.RenewOrphan(soon, c, record.DefaultPolicy(), h)
		requireClass(t, ClassLockConflict, err)
	})
}

func TestAForeignLeaseIsNotRenewed(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.put(t, "main.lock", rivalRecord(t, 41))
	s, h := leftHead(t, d)
	require.True(t, h.Foreign)
	_, err := s.RenewOrphan(bg, c, record.DefaultPolicy(), h)
	requireClass(t, ClassLockNotHeld, err)
	_, err = s.ReleaseOrphan(bg, c, h)
	requireClass(t, ClassLockNotHeld, err)
}
