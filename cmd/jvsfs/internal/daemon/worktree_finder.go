package daemon

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/lease"
)

// worktreeFinder finds the worktrees that requests are about.
type worktreeFinder struct {
	of    func(rel string) (lease.WorktreeID, bool) // the file system's
	paths *paths.Paths
	get   func(lease.WorktreeID) (*leases.Worktree, error)
}

// at finds the worktree that a path below the mount lies in.
func (d *worktreeFinder) at(rel string, uid uint32) (*leases.Worktree, error) {
	id, ok := d.of(rel)
	if !ok {
		return nil, d.paths.InNoWorktree(rel)
	}
	if err := d.paths.MustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.get(id)
	return w, leases.Closing(err)
}
