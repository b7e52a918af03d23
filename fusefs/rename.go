package fusefs

import (
	"context"
	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// Rename moves a name. Within one guard it is one mutation. Between two it is
// EXDEV, so that tools copy instead, each side under its own lease. The exception
// is a worktree's root itself, which restore and "worktree rename" move: there the
// guards of both paths are asked.
func (f *rawFS) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) (st fuse.Status) {
	f.stats.count(gate.OpRename)
	from, to := f.nodes.get(in.NodeId), f.nodes.get(in.Newdir)
	if from == nil || to == nil {
		return fuse.ENOENT
	}
	for _, name := range []string{oldName, newName} {
		if st := checkName(name); st != fuse.OK {
			return st
		}
	}
	drop := f.foreignPages(f.movesDir(from, oldName) || f.movesDir(to, newName), from, to)
	drop() // before any lock is held: what is written back comes as requests
	defer drop()
	unlock, st := f.settleRename(from, oldName, to, newName)
	if st != fuse.OK {
		return st
	}
	defer unlock()
	rules, ok := renameRules(from, oldName, to, newName)
	if !ok {
		return fuse.EXDEV
	}
	if f.covers(gate.OpRename, from, oldName) || f.covers(gate.OpRename, to, newName) {
		return f.refuseRule(gate.OpRename, callerID(&in.InHeader), sealedRule)
	}
	p, st := f.admit(gate.OpRename, &in.InHeader, rules, f.spotOfRename(from, oldName, to, newName, in.Flags))
	if st == fuse.OK {
		p, st = f.atBorder(p)
	}
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	if isRoot(from, oldName) || isRoot(to, newName) {
		f.names.Lock()
		defer f.names.Unlock()
	}
	went := p.dying()
	var err error
	rename := func() error {
		return retry(func() error { return unix.Renameat2(from.fd, oldName, to.fd, newName, uint(in.Flags)) })
	}
	if in.Flags&unix.RENAME_WHITEOUT != 0 { // which makes an inode, the caller's
		as := callerOf(&in.InHeader, 0, 0)
		as.caps = capDacOverride | capFowner // the kernel has checked who may
		err = as.as(rename)
	} else {
		err = rename()
	}
	went(err == nil)
	if err != nil {
		return status(err)
	}
	f.renames.Add(1) // before the promises are moved, see believe
	wide := f.resettle(from, oldName, to, newName)
	if in.Flags&unix.RENAME_EXCHANGE != 0 {
		wide = f.resettle(to, newName, from, oldName) || wide
	}
	f.crossed(from, to, wide)
	return fuse.OK
}

// movesDir reports whether a name is a directory's, where that is of interest.
func (f *rawFS) movesDir(dir *node, name string) bool {
	var st unix.Stat_t
	return f.border.on && f.handles.mapped.Load() > 0 && unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// settleRename holds the rules of a repository as they are, alone where the rename
// changes them. What was stored through mappings is written back first, under the
// rule that it was stored under.
func (f *rawFS) settleRename(from *node, oldName string, to *node, newName string) (unlock func(), st fuse.Status) {
	if f.opts.Shape != ShapeRepository {
		return func() {}, fuse.OK
	}
	if !isRoot(from, oldName) && !isRoot(to, newName) {
		f.tree.RLock()
		return f.tree.RUnlock, fuse.OK
	}
	_ = f.writeBackMapped(context.Background()) // without an end there is no error
	f.tree.Lock()
	if !f.aloneInRepository() {
		f.tree.Unlock()
		return nil, fuse.EBUSY
	}
	return func() {
		if err := f.shareRepository(); err != nil {
			f.opts.Log.Error("lock of the repository's root", zap.Error(err))
		}
		f.tree.Unlock()
	}, fuse.OK
}

// shareRepository and aloneInRepository keep a flock on the repository's root: every
// mount of it has the lock shared, and whoever renames a worktree's root must have it
// alone for that moment. Where another mount serves the same repository, its daemon
// remembers open files and directories by their old place, so the rename is EBUSY.
func (f *rawFS) shareRepository() error {
	if f.opts.Shape != ShapeRepository {
		return nil
	}
	return retry(func() error { return unix.Flock(f.lockFD, unix.LOCK_SH) })
}

func (f *rawFS) aloneInRepository() bool {
	err := retry(func() error { return unix.Flock(f.lockFD, unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return true
	}
	// A conversion that fails may have let the shared lock go (flock(2)).
	if err := f.shareRepository(); err != nil {
		f.opts.Log.Error("lock of the repository's root", zap.Error(err))
	}
	return false
}

// renameRules returns the rules of both names, and whether the move is one that a
// rename may make.
func renameRules(from *node, oldName string, to *node, newName string) ([]*rule, bool) {
	var buf [4]*rule
	rules := entryRules(buf[:0], from, oldName)
	n := len(rules)
	rules = entryRules(rules, to, newName)
	if len(rules) == 1 || n > 1 {
		return rules, n == 1
	}
	return rules, isRoot(from, oldName) || isRoot(to, newName)
}

// isRoot reports whether a name is that of a worktree's root (or of something
// sealed, which the gate then refuses).
func isRoot(dir *node, name string) bool { return entryRule(dir, name) != nil }

// resettle notes that the inode at dir/name stands there now, and no more where it was.
// One that the kernel does not know learns its place when it is looked up. It reports
// whether it is a directory.
func (f *rawFS) resettle(wasIn *node, wasCalled string, dir *node, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if n := f.nodes.find(keyOf(&st)); n != nil {
		n.renamed(wasIn, wasCalled, dir, name)
		f.moved(n, dir, name)
	}
	return st.Mode&unix.S_IFMT == unix.S_IFDIR
}
