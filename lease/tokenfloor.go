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
	files, err := s.UnderGate(ctx, c, p)
	if err != nil {
		return err
	}
	defer files.End()
	top, err := files.Highest()
	if err != nil || top >= t {
		return err
	}
	return files.Follow(t-1, p, c.Wall())
}
