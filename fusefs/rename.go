package fusefs

import (
	"cmp"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// Rename moves a name. Within one guard it is one mutation. Between two guards it is EXDEV, so that
// tools copy instead, each side under its own lease. The exception is a worktree's root, which
// restore and "worktree rename" move: then the guards of both paths are asked.
func (f *rawFS) Rename(cancel <-chan struct{}, in *fuse.RenameIn, oldName, newName string) (st fuse.Status) {
	f.stats.count(gate.OpRename)
	r := renaming{in, f.nodes.get(in.NodeId), f.nodes.get(in.Newdir), oldName, newName, cancel}
	if r.from == nil || r.to == nil {
		return fuse.ENOENT
	}
	for _, name := range []string{oldName, newName} {
		if st := checkName(name); st != fuse.OK {
			return st
		}
	}
	drop := f.foreignPages(f.movesDir(r.from, oldName) || f.movesDir(r.to, newName), r.from, r.to)
	drop() // before any lock is held: write-back comes as requests
	defer drop()
	if f.ofRoot(r) {
		return f.moveRoot(cancel, r)
	}
	p, st := f.admitRename(r, nil)
	if st != fuse.OK {
		return st
	}
	if r.to.layoutRole().NamesCheckouts() || r.from.layoutRole().NamesCheckouts() {
		defer f.reread() // once the change has left
	}
	defer p.leave(&st)
	return f.renameAt(r, &p)
}

// admitRename asks the guards of both names, and takes the border.
func (f *rawFS) admitRename(r renaming, through *gate.Freeze) (passes, fuse.Status) {
	return f.settled(func() (passes, fuse.Status) {
		rules, ok := f.renameRules(r.from, r.oldName, r.to, r.newName)
		if !ok {
			return passes{}, fuse.EXDEV
		}
		if rule := cmp.Or(f.covers(gate.OpRename, r.from, r.oldName), f.covers(gate.OpRename, r.to, r.newName)); rule != nil {
			return passes{}, f.refuseRule(gate.OpRename, callerID(&r.in.InHeader), rule)
		}
		if st := f.admitLock(gate.OpRename, callerID(&r.in.InHeader), r.from, r.oldName); st != fuse.OK {
			return passes{}, st
		}
		if st := f.admitLock(gate.OpRename, callerID(&r.in.InHeader), r.to, r.newName); st != fuse.OK {
			return passes{}, st
		}
		p, st := f.admitAs(passes{
			op: gate.OpRename, through: through, signal: r.signal, spot: f.spotOfRename(r.from, r.oldName, r.to, r.newName, r.in.Flags),
			may: mayRename(r.from, r.oldName, r.to, r.newName), round: r.from,
		}, &r.in.InHeader, rules)
		if st == fuse.OK {
			p, st = f.atBorder(p)
		}
		return p, st
	})
}

// renameAt makes the rename and notes the new places.
func (f *rawFS) renameAt(r renaming, p *passes) fuse.Status {
	defer f.lockName(r.oldName, r.newName)()
	lock, locks := f.lockAt(r.from, r.oldName)
	replaced, replaces := f.lockAt(r.to, r.newName)
	went := p.dying()
	events := 1
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		events = 2 // each name is a source and a target
	}
	gone, come := changing(r.from, r.oldName, events), changing(r.to, r.newName, events)
	var err error
	rename := func() error {
		return retry(func() error { return unix.Renameat2(r.from.fd, r.oldName, r.to.fd, r.newName, uint(r.in.Flags)) })
	}
	if r.in.Flags&unix.RENAME_WHITEOUT != 0 { // it makes an inode, which is the caller's
		as := callerOf(&r.in.InHeader, 0, 0)
		as.caps = capDacOverride | capFowner // the kernel has checked the permission
		err = as.as(rename)
	} else {
		err = standIn(&r.in.InHeader).as(rename)
	}
	went(err == nil)
	if err != nil {
		gone.unchanged()
		come.unchanged()
		return status(err)
	}
	switch {
	case replaces:
		f.lockMoved(lock, &replaced)
	case locks:
		f.lockMoved(lock, nil)
	}
	f.renames.Add(1) // before long timeouts are moved, see believe
	wide := f.resettle(r.from, r.oldName, r.to, r.newName)
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		wide = f.resettle(r.to, r.newName, r.from, r.oldName) || wide
	}
	f.crossed(r.from, r.to, wide)
	return fuse.OK
}

// movesDir reports whether a name is a directory's, if that matters.
func (f *rawFS) movesDir(dir *node, name string) bool {
	var st unix.Stat_t
	return f.border.on && f.handles.mapped.Load() > 0 && unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// renameRules returns the rules of both names, and whether a rename between them is allowed.
func (f *rawFS) renameRules(from *node, oldName string, to *node, newName string) ([]*layout.Rule, bool) {
	var buf [4]*layout.Rule
	rules := f.entryRules(buf[:0], from, oldName)
	n := len(rules)
	rules = f.entryRules(rules, to, newName)
	if len(rules) == 1 || n > 1 {
		return f.replaceRules(rules, from, oldName, to, newName), n == 1
	}
	within := f.oneRepository(rules)
	return f.replaceRules(rules, from, oldName, to, newName), within || f.movesRoot(from, oldName, to, newName)
}

// movesRoot reports whether a rename gives the root of a worktree another name, or something in its
// place. In a git repository files have rules of their own, and are no roots.
func (f *rawFS) movesRoot(from *node, oldName string, to *node, newName string) bool {
	return (f.isRoot(from, oldName) || f.isRoot(to, newName)) && (!f.git.on || isDirAt(from, oldName) || isDirAt(to, newName))
}

// isRoot reports whether a name is that of a worktree's root (or of something sealed, which the
// gate then refuses).
func (f *rawFS) isRoot(dir *node, name string) bool { return f.entryOf(dir, name).HasRule() }

// resettle notes that the inode at dir/name is there now, and no longer at its old place. An inode
// that the kernel does not know gets its place when it is looked up. resettle reports whether it is
// a directory.
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
