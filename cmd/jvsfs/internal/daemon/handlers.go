package daemon

import (
	"errors"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// worktreeAt finds the worktree that a path below the mount lies in.
func (d *mount) worktreeAt(rel string, uid uint32) (*worktree, error) {
	id, ok := d.fs.WorktreeOf(rel)
	if !ok {
		return nil, d.paths.InNoWorktree(rel)
	}
	if err := d.paths.MustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.registry.get(id)
	return w, closing(err)
}

// closing words errClosing for a client.
func closing(err error) error {
	if !errors.Is(err, errClosing) {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Message: errClosing.Error(), Next: "if it comes back (jvsfs status shows it), try again"}
}
