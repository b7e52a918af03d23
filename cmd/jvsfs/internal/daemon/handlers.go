package daemon

import (
	"errors"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/lease"
)

// worktreeFinder finds the worktrees that requests are about.
type worktreeFinder struct {
	of    func(rel string) (lease.WorktreeID, bool) // the file system's
	paths *paths.Paths
	get   func(lease.WorktreeID) (*worktree, error)
}

// at finds the worktree that a path below the mount lies in.
func (d *worktreeFinder) at(rel string, uid uint32) (*worktree, error) {
	id, ok := d.of(rel)
	if !ok {
		return nil, d.paths.InNoWorktree(rel)
	}
	if err := d.paths.MustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.get(id)
	return w, closing(err)
}

// closing words errClosing for a client.
func closing(err error) error {
	if !errors.Is(err, errClosing) {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Message: errClosing.Error(), Next: "if it comes back (jvsfs status shows it), try again"}
}
