package lease

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// A lease that a command took without a mount is left when the command ends: no keeper renews it and nothing is fenced by it. The
// two calls below are for the next command, which has nothing but the record. They prove themselves by the claim's own nonce, and
// whoever calls must have decided that the caller speaks for the holder. They keep the rules that a keeper keeps: only the claim's
// own inode is written (3), not while somebody takes the lease (4), and not for a claim that is over, released or superseded.

// orphanWait bounds the wait for the gate.
const orphanWait = 2 * time.Second

// RenewOrphan renews the lease that h shows, and returns its record. [ClassLockNotHeld] when it changed hands or was released,
// [ClassLockExpired] when it ended, also while the renewal was being written: then the record may say that it lasts, and the caller
// must not believe it. It takes LOCK_SH, which a living keeper of the same lease has too: renewing twice hurts nobody.
func (s *Store) RenewOrphan(ctx context.Context, c Clock, p Policy, h Head) (*Record, error) {
	g := newGateLock(s)
	defer g.close()
	if err := g.sharedWithin(ctx, orphanWait); err != nil {
		return nil, err
	}
	own, err := s.openOrphan(h)
	if err != nil {
		return nil, err
	}
	defer own.close()
	return own.renewOrphan(clockOf(c), p)
}

func (c *claim) renewOrphan(clock Clock, p Policy) (*Record, error) {
	in := readClocks(clock) // before the record is read (rule 5), and t0
	rec, err := c.unreleased()
	if err != nil {
		return nil, err
	}
	if err := c.lasts(in.wall, rec, p); err != nil {
		return nil, err
	}
	old := rec.LeaseExpiresAt
	end := in.boot + old.Sub(in.wall)
	rec = rec.clone()
	rec.LastRenewedAt = in.wall.UTC()
	rec.LeaseExpiresAt = in.wall.Add(rec.Policy().LeaseDuration).UTC()
	rec.RenewCount = nextCount(rec.RenewCount)
	if err := c.rewrite(rec); err != nil {
		return nil, err
	}
	if _, err := c.unreleased(); err != nil {
		return nil, err
	}
	// Whichever clock was set or stood still meanwhile, the other knows (rule 8).
	if clock.Wall().After(old) || clock.Boot() > end {
		return nil, c.ended(old)
	}
	return rec.clone(), c.repairView()
}

// ReleaseOrphan gives the lease that h shows back, and returns its record. It takes LOCK_EX: a keeper that still has the lease open,
// in a daemon or in `exec`, must close and drain first (rule 9), so it is named instead, as a [ClassLockConflict].
func (s *Store) ReleaseOrphan(ctx context.Context, c Clock, h Head) (*Record, error) {
	g := newGateLock(s)
	defer g.close()
	if err := g.exclusive(ctx, orphanWait); err != nil {
		return nil, err
	}
	own, err := s.openOrphan(h)
	if err != nil {
		return nil, err
	}
	defer own.close()
	rec, err := own.unreleased()
	if err != nil {
		return nil, err
	}
	if err := own.release(rec.clone(), clockOf(c).Wall(), pausePoint); err != nil {
		return nil, err
	}
	return own.rec.clone(), nil
}

// openOrphan opens the claim of h. Whether it still carries the nonce that was judged is unreleased's to say.
func (s *Store) openOrphan(h Head) (*claim, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &claim{store: s, fd: -1, rec: &Record{FencingToken: h.Token}}
	switch {
	case h.Unreadable != nil:
		return nil, h.Unreadable
	case h.Record == nil:
		return nil, c.lost("nobody holds the lease", nil)
	case h.Foreign:
		return nil, c.lost("the lease was taken by a tool without these rules, which alone can renew or release it", nil)
	}
	fd, err := openat(s.dir.fd, c.name(), unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, s.failed("the own record cannot be opened", c.name(), err)
	}
	c.fd, c.rec = fd, h.Record.clone()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		c.close()
		return nil, s.failed("the own record cannot be looked at", c.name(), err)
	}
	c.file = idOf(&st)
	return c, nil
}

// unreleased reads the own record back: it is still the one that was judged, nobody has released it, and there is none above it.
func (c *claim) unreleased() (*Record, error) {
	if found, err := c.successorAnywhere(); found || err != nil {
		return nil, err
	}
	rec, err := c.check()
	if err == nil && rec.Released {
		err = c.lost("the lease was released", nil)
	}
	return rec, err
}

// lasts is whether a lease that was left may still be renewed: there is no fence whose boot clock would know better.
func (c *claim) lasts(now time.Time, rec *Record, p Policy) error {
	j := Judge(now, Head{Token: rec.FencingToken, Record: rec}, p)
	switch j.State {
	case Held:
		return nil
	case Skewed:
		return &Error{Class: ClassClockSkewExceeded, Worktree: c.store.id, File: c.store.display(c.name()), Message: j.Reason,
			Next: "set the clocks of all hosts right, then acquire the lease again"}
	}
	return c.ended(rec.LeaseExpiresAt)
}

func (c *claim) ended(at time.Time) error {
	return &Error{Class: ClassLockExpired, Worktree: c.store.id, File: c.store.display(c.name()),
		Message: "the lease ended at " + at.UTC().Format(time.RFC3339) + " and cannot be renewed", Next: "acquire the lease again"}
}
