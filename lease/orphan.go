package lease

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// An orphaned lease was taken by a command without a mount, which has ended: no keeper renews it, and no fence belongs to it. The two
// calls below are for the next command, which has nothing but the record. They identify the lease by the claim's nonce. The caller
// must have decided that it speaks for the holder. They keep a keeper's rules: they write the claim's own inode only (3), not while
// somebody takes the lease (4), and not if the claim is over, released or superseded.

// orphanWait bounds the wait for the gate.
const orphanWait = 2 * time.Second

// RenewOrphan renews the lease that h shows, and returns its record. [ClassLockNotHeld]: it changed hands or was released.
// [ClassLockExpired]: it ended, perhaps while the renewal was written; then the record may say that it lasts, and the caller must not
// believe that. RenewOrphan takes LOCK_SH. A living keeper of the same lease has that, too, and two renewals do no harm.
func (s *Store) RenewOrphan(ctx context.Context, c Clock, p record.Policy, h Head) (*record.Record, error) {
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

func (c *claim) renewOrphan(clock Clock, p record.Policy) (*record.Record, error) {
	in := readClocks(clock) // before the record is read (rule 5); also t0
	rec, err := c.unreleased()
	if err != nil {
		return nil, err
	}
	if err := c.lasts(in.wall, rec, p); err != nil {
		return nil, err
	}
	old := rec.LeaseExpiresAt
	end := in.boot + old.Sub(in.wall)
	rec = rec.Clone()
	rec.LastRenewedAt = in.wall.UTC()
	rec.LeaseExpiresAt = in.wall.Add(rec.Policy().LeaseDuration).UTC()
	rec.RenewCount = record.NextCount(rec.RenewCount)
	if err := c.rewrite(rec); err != nil {
		return nil, err
	}
	if _, err := c.unreleased(); err != nil {
		return nil, err
	}
	// If one clock was set or stood still meanwhile, the other shows it (rule 8).
	if clock.Wall().After(old) || clock.Boot() > end {
		return nil, c.ended(old)
	}
	return rec.Clone(), c.repairView()
}

// ReleaseOrphan releases the lease that h shows, and returns its record. It takes LOCK_EX. If a keeper still holds the lease, in a
// daemon or in `exec`, the error is a [ClassLockConflict] that names it: a keeper must close and drain first (rule 9).
func (s *Store) ReleaseOrphan(ctx context.Context, c Clock, h Head) (*record.Record, error) {
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
	if err := own.release(rec.Clone(), clockOf(c).Wall(), pausePoint); err != nil {
		return nil, err
	}
	return own.rec.Clone(), nil
}

// openOrphan opens the claim of h. The caller then checks with unreleased that it still carries the nonce.
func (s *Store) openOrphan(h Head) (*claim, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &claim{store: s, fd: -1, rec: &record.Record{FencingToken: h.Token}}
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
	c.fd, c.rec = fd, h.Record.Clone()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		c.close()
		return nil, s.failed("the own record cannot be looked at", c.name(), err)
	}
	c.file = idOf(&st)
	return c, nil
}

func (c *claim) unreleased() (*record.Record, error) { return unreleased(c) }

// lasts is an error if the lease is over by the wall clock. There is no fence with a deadline on the boot clock.
func (c *claim) lasts(now time.Time, rec *record.Record, p record.Policy) error {
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
