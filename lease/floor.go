package lease

import "context"

// Raise lets the tokens of the worktree go on above t at the least, where records elsewhere have come to be those of the same
// tree: a claim t that is released follows the head. It takes the gate, so a lease that somebody holds here is a
// [ClassLockConflict], and nothing is done.
func (s *Store) Raise(ctx context.Context, c Clock, p Policy, t Token) error {
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
