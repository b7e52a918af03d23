package lease

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// UnderGate is the files of one worktree for who has LOCK_EX on the gate and holds nothing: a repair. On a file system of this kernel
// nobody holds or takes the lease meanwhile (rule 4); elsewhere that is not proven ([UnderGate.ProvesEnd]). It makes and moves, and
// removes only a temporary name. What may be done to a file its caller decides. One goroutine at a time.
type UnderGate struct {
	store *Store
	gate  *gateLock
}

// repairWait bounds the wait for the gate. It is not for a holder, who has the gate as long as the lease lasts.
const repairWait = 2 * time.Second

// patience is how long a repair waits for the gate.
func (s *Store) patience(c Clock, p record.Policy) time.Duration {
	if h, err := s.Head(); err == nil && Judge(c.Wall(), h, p).State == Held {
		return 0
	}
	return repairWait
}

// UnderGate takes the gate. It waits for a taker, and not for a holder. The error is about the directory or the gate.
func (s *Store) UnderGate(ctx context.Context, c Clock, p record.Policy) (*UnderGate, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	g := newGateLock(s)
	if err := g.exclusive(ctx, s.patience(c, p)); err != nil {
		g.close()
		return nil, err
	}
	return &UnderGate{store: s, gate: g}, nil
}

// End gives the gate back.
func (u *UnderGate) End() {
	u.gate.unlock()
	u.gate.close()
}

// ProvesEnd is whether LOCK_EX on the gate proves that no holder writes any more.
func (u *UnderGate) ProvesEnd() bool { return u.store.tier().gateProvesEnd() }

// Path is a name as messages have it.
func (u *UnderGate) Path(name string) string { return u.store.display(name) }

// Names lists the lock directory, with the files of other worktrees.
func (u *UnderGate) Names() ([]string, error) {
	names, err := u.store.dir.names()
	if err != nil {
		return nil, u.store.failed("the lock directory cannot be listed", "", err)
	}
	return names, nil
}

// Highest is the largest number in the claims' names, 0 if there is none.
func (u *UnderGate) Highest() (Token, error) { return u.store.highest() }

// ClaimsAbove are the names of claims with a number above t.
func (u *UnderGate) ClaimsAbove(t Token) ([]string, error) { return u.store.claimsAbove(t) }

// Claim is the claim t as it reads, whatever token it carries.
func (u *UnderGate) Claim(t Token) Head {
	h := u.store.readRecordFile(u.store.claimName(t))
	h.Token = t
	return h
}

// View is the view as it reads.
func (u *UnderGate) View() Head { return u.store.readView() }

// Stat is stat of a name, which may be a link.
func (u *UnderGate) Stat(name string) (st unix.Stat_t, err error) {
	err = look(func() error { return unix.Fstatat(u.store.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// Is is whether a name is that very file.
func (u *UnderGate) Is(name string, st *unix.Stat_t) bool {
	id, err := u.store.lookup(name)
	return err == nil && id == idOf(st)
}

// Read reads a regular file, up to a bound.
func (u *UnderGate) Read(name string) ([]byte, *unix.Stat_t, error) { return u.store.readFile(name) }

// Follow claims token t+1, released from the start.
func (u *UnderGate) Follow(t Token, p record.Policy, now time.Time) error {
	s := u.store
	rec := s.newRecord(p, Holder{Host: "jvsfs-doctor", Purpose: "repair"}, Head{Token: t}, instant{wall: now})
	rec.Released, rec.LeaseExpiresAt = true, now.UTC()
	c, err := s.bear(rec)
	if err != nil {
		return err
	}
	defer c.discard()
	won, err := c.link()
	if err == nil && !won {
		err = s.failed("somebody claimed meanwhile", c.name(), nil)
	}
	if err != nil {
		return err
	}
	return s.dir.sync()
}

// ShowClaim makes the view a link to the claim t, durably.
func (u *UnderGate) ShowClaim(t Token) error { return u.store.putView(t) }

// MoveAside renames a file so that it never counts again. The new name begins with as, which says what it was.
func (u *UnderGate) MoveAside(name, as, nonce string) (kept string, err error) {
	s, aside := u.store, record.AsideFile(as, nonce)
	if err := retry(func() error { return unix.Renameat(s.dir.fd, name, s.dir.fd, aside) }); err != nil {
		return "", s.failed("a file cannot be moved aside", name, err)
	}
	return s.display(aside), nil
}

// Remove removes a temporary name.
func (u *UnderGate) Remove(name string) error {
	if err := unix.Unlinkat(u.store.dir.fd, name, 0); err != nil {
		return u.store.failed("a leftover cannot be removed", name, err)
	}
	return nil
}

// Sync makes the lock directory durable.
func (u *UnderGate) Sync() error { return u.store.dir.sync() }
