package place

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// A tree may get other records than it had: by --control, or another directory there. Then nobody may hold it
// by the old records, and the new tokens continue above theirs. The earlier records of a tree are found at the
// usual place, and by a note on this machine of chosen places.

// elsewhereFile is that note. It is beside the usual lock directories; none of them has such a name.
const elsewhereFile = "#elsewhere.json"

const maxElsewhere = 128 // entries, of the latest

// chosen is one entry.
type chosen struct {
	Tree     treeID           `json:"tree"`
	LockDir  string           `json:"locks"`
	Worktree lease.WorktreeID `json:"worktree,omitempty"` // "" for a repository
}

func readElsewhere() []chosen {
	f, err := host.OpenRegular(filepath.Join(controlRoot(), elsewhereFile))
	if err != nil {
		return nil // nothing was noted, or not for this user
	}
	defer host.CloseFile(f)
	var all []chosen
	_ = json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&all) // a torn note says nothing
	return all
}

// tree is the directory for which the records of p are.
func (p Place) tree() (treeID, error) {
	if p.Repo != "" {
		return identifyTree(p.Repo)
	}
	return identifyTree(p.Root)
}

// noteChosen notes that p has records at a chosen place.
func (p Place) noteChosen() error {
	if p.Local || p.ownFile() == "" {
		return nil
	}
	tree, err := p.tree()
	if err != nil {
		return err
	}
	mine := chosen{tree, p.LockDir, ""}
	if p.Shape == api.ShapeDirectory {
		mine.Worktree = p.ID
	}
	if err := os.MkdirAll(controlRoot(), 0o700); err != nil {
		return err
	}
	dir, err := os.Open(controlRoot())
	if err != nil {
		return err
	}
	defer host.CloseFile(dir)
	if err := retryInterrupted(func() error { return unix.Flock(int(dir.Fd()), unix.LOCK_EX) }); err != nil {
		return err
	}
	var kept []chosen
	for _, c := range readElsewhere() {
		if c == mine {
			return nil
		}
		if !c.Tree.is(tree) || c.LockDir != p.LockDir {
			kept = append(kept, c)
		}
	}
	kept = append(kept, mine)
	return host.WriteState(filepath.Join(controlRoot(), elsewhereFile), kept[max(0, len(kept)-maxElsewhere):])
}

// others are the other records that this tree has had.
func (p Place) others() []Place {
	var out []Place
	add := func(dir string, id lease.WorktreeID) {
		if dir != p.LockDir && Exists(dir) {
			o := p
			o.LockDir, o.ID, o.Foreign, o.Local = dir, id, nil, false
			out = append(out, o)
		}
	}
	if p.Repo != "" {
		add(locksOf(p.Repo), p.ID)
	} else {
		usual := recordedAt(p.Root, "", usualRecords())
		add(usual.LockDir, usual.ID)
	}
	tree, err := p.tree()
	if err != nil {
		return out
	}
	for _, c := range readElsewhere() {
		if !c.Tree.is(tree) {
			continue
		}
		if p.Repo != "" {
			add(c.LockDir, p.ID)
		} else if id, err := record.ParseWorktreeID(string(c.Worktree)); err == nil {
			add(c.LockDir, id)
		}
	}
	return out
}

// Own makes the records in dir those of p, whose directory is locked by now.
func (p Place) Own(ctx context.Context, dir *lease.Dir, policy record.Policy) error {
	if p.Foreign != nil {
		return p.NotOurs()
	}
	if err := p.succeed(ctx, dir, policy); err != nil {
		return err
	}
	err := p.noteChosen()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		err = nil // a command of a user, or in a container, need not note its choice on this machine
	}
	return errors.Join(p.BindRecords(dir.FD(), false), err)
}

// succeed makes the records of p continue the tokens of others of the same tree. It fails while somebody holds
// the tree by those.
func (p Place) succeed(ctx context.Context, dir *lease.Dir, policy record.Policy) error {
	var errs []error
	for _, o := range p.others() {
		errs = append(errs, p.succeedTo(ctx, o, dir, policy))
	}
	return errors.Join(errs...)
}

func (p Place) succeedTo(ctx context.Context, o Place, dir *lease.Dir, policy record.Policy) error {
	old, err := lease.OpenDirToLook(o.LockDir)
	if err != nil {
		return err
	}
	defer old.Close() //nolint:errcheck // only read from
	ids := []lease.WorktreeID{o.ID}
	if p.Shape == api.ShapeRepository {
		if ids, err = old.Worktrees(); err != nil {
			return err
		}
	}
	clock := lease.SystemClock()
	for _, id := range ids {
		now := clock.Wall() // before the record is read, as Judge wants it
		head, err := old.Store(id).Head()
		if err != nil {
			return err
		}
		if j := lease.JudgeRead(now, clock.Wall(), head, policy); j.State == lease.Held || j.State == lease.Skewed {
			return heldElsewhere(p, o, head)
		}
		mine := p.ID
		if p.Shape == api.ShapeRepository {
			mine = id
		}
		err = dir.Store(mine).Raise(ctx, clock, policy, head.Token)
		if err != nil && lease.ClassOf(err) != lease.ClassLockConflict { // held by these records: a later mount does it
			return err
		}
	}
	return nil
}

// errHeldElsewhere is the cause of refusing records while others are in use.
var errHeldElsewhere = errors.New("held by other records")

func heldElsewhere(p, o Place, head lease.Head) *api.Failure {
	return &api.Failure{Class: lease.ClassLockConflict, File: head.File, Holder: api.ViewOfRecord(head.Record), Err: errHeldElsewhere,
		Message: fmt.Sprintf("%s is held by other records of it, in %s, and not by those in %s", p.Root, o.LockDir, p.LockDir),
		Next:    fmt.Sprintf("wait for that lease to end or release it (jvsfs lock release --control %s %s), or continue with those records", o.LockDir, p.Root)}
}
