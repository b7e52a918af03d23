package lease

import (
	"context"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Raise makes sure that the next token of the worktree is above t: it makes a claim t that is released. This is for a tree whose
// records were in another directory before. It takes the gate. If somebody holds the lease here, the error is a
// [ClassLockConflict] and nothing is done.
func (s *Store) Raise(ctx context.Context, c Clock, p record.Policy, t Token) error {
	if err := s.check(); err != nil {
		return err
	}
	if top, err := s.highest(); err != nil || top >= t {
		return err
	}
	g := newGateLock(s)
	defer g.close()
	if err := g.exclusive(ctx, s.patience(c, p)); err != nil {
		return err
	}
	defer g.unlock()
	top, err := s.highest()
	if err != nil || top >= t {
		return err
	}
	m := repairer{store: s, now: c.Wall(), policy: p}
	return m.follow(t - 1)
}
