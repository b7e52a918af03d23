package fusefs

import (
	"cmp"
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/git"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Rename moves a name. Within one guard it is one mutation. Between two guards it is EXDEV, so that
// tools copy instead, each side under its own lease. The exception is a worktree's root, which
// restore and "worktree rename" move: then the guards of both paths are asked.
func (f *rawFS) Rename(cancel <-chan struct{}, in *fuse.RenameIn, oldName, newName string) (st fuse.Status) {
	f.stats.count(gate.OpRename)
	r := renaming{in: in, from: f.nodes.get(in.NodeId), to: f.nodes.get(in.Newdir), oldName: oldName, newName: newName, signal: cancel}
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
	if admin, ok := f.git.ChangesNotes(r.to, newName); ok {
		defer f.git.Noted(admin, f.writerOf(cancel, &in.InHeader)) // once the change has left
	} else if r.from.Role().NamesCheckouts() {
		defer f.git.Reread()
	}
	r.seen, r.free = f.rules.Names(r.old(), r.next(), r.in.Flags&unix.RENAME_EXCHANGE != 0), f.git.MovesCheckout(r.inGit())
	turn, st := f.takeTurn(cancel, gate.OpRename, &in.InHeader, r.come(), r.goes()...)
	if st != fuse.OK {
		return st
	}
	defer func() { turn.End(st == fuse.OK) }()
	if f.ofRoot(r) {
		return f.moveRoot(cancel, r)
	}
	p, st := f.admitRename(r, nil)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	return f.renameAt(r, &p)
}

// admitRename asks the guards of both names, and takes the move lock.
func (f *rawFS) admitRename(r renaming, through *gate.Freeze) (permit, fuse.Status) {
	c := &nameMove{f: f, r: r, through: through}
	c.names = [2]engine.Name{r.old(), r.next()}
	c.mutation = engine.Mutation{Op: gate.OpRename, Caller: callerID(&r.in.InHeader), Names: c.names[:]}
	return f.begin(c)
}

// nameMove moves a name, or exchanges two.
type nameMove struct {
	nameChange
	f       *rawFS
	r       renaming
	through *gate.Freeze

	by engine.Judgement
}

// ask judges by what lies in the repository now.
func (c *nameMove) ask() (permit, fuse.Status) {
	f, r, h, ok := c.f, c.r, &c.r.in.InHeader, false
	if c.by.Rules, c.by.Content, ok = f.renameRules(r); !ok {
		return permit{}, fuse.EXDEV
	}
	if rule := cmp.Or(f.covers(gate.OpRename, r.from, r.oldName), f.covers(gate.OpRename, r.to, r.newName)); rule != nil {
		return permit{}, f.refuseRule(gate.OpRename, callerID(h), rule)
	}
	if st := f.askFirst(&c.mutation); st != fuse.OK {
		return permit{}, st
	}
	guarded, st := f.rulesOfRename(r)
	if st != fuse.OK {
		return permit{}, st
	}
	return f.admitAs(permit{
		needs: needs{moves: true},
		op:    gate.OpRename, guarded: guarded, through: c.through, signal: r.signal, place: f.exempt.OfRename(r.from, r.oldName, r.to, r.newName, r.in.Flags),
		may: mayRename(r.from, r.oldName, r.to, r.newName), round: r.from,
	}, h, c.by.Rules)
}

func (c *nameMove) By() engine.Judgement { return c.by }

func (c *nameMove) Again() (by engine.Judgement) {
	by.Rules, by.Content, _ = c.f.renameRules(c.r)
	return by
}

// renameAt makes the rename and notes the new places.
func (f *rawFS) renameAt(r renaming, p *permit) fuse.Status {
	if !r.movesFiles() {
		defer f.places.move()()
	}
	went := p.dying()
	events := 1
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		events = 2 // each name is a source and a target
	}
	gone, come := changing(r.from, r.oldName, events), changing(r.to, r.newName, events)
	var err error
	rename := func() error { return retry(r.rename) }
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
	f.renames.Add(1) // before long timeouts are moved, see cacheGen
	wide := f.resettle(r.from, r.oldName, r.to, r.newName)
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		wide = f.resettle(r.to, r.newName, r.from, r.oldName) || wide
	}
	if wide {
		f.places.moved() // in case another one has put a directory there since the name was looked at
	}
	f.crossed(r.from, r.to, wide)
	return fuse.OK
}

// rename is the one call. A new name for which nobody was asked must still be free: what somebody makes there meanwhile is theirs.
func (r renaming) rename() error {
	flags := uint(r.in.Flags)
	if r.free {
		err := unix.Renameat2(r.from.fd, r.oldName, r.to.fd, r.newName, flags|unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EINVAL) { // a file system that does not know the flag
			return err
		}
	}
	return unix.Renameat2(r.from.fd, r.oldName, r.to.fd, r.newName, flags)
}

// movesDir reports whether a name is a directory's, if that matters.
func (f *rawFS) movesDir(dir *node, name string) bool {
	var st unix.Stat_t
	return f.moveLock.On && f.handles.mapped.Load() > 0 && unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// renameRules returns the rules of both names, whether the content of files decided, and whether a
// rename between them is allowed.
func (f *rawFS) renameRules(r renaming) (rules []*layout.Rule, content, ok bool) {
	if f.git != nil {
		return f.git.RulesOfRename(r.inGit())
	}
	rules = f.entryRules(make([]*layout.Rule, 0, 4), r.from, r.oldName)
	n := len(rules)
	rules = f.entryRules(rules, r.to, r.newName)
	ok = n == 1 && (len(rules) == 1 || f.movesRoot(r)) && !f.movesParts(r)
	rules = f.partRules(rules, r)
	return rules, false, ok
}

// inGit is the rename as a repository is asked about it.
func (r renaming) inGit() git.Rename {
	return git.Rename{Caller: callerID(&r.in.InHeader), From: r.from, OldName: r.oldName, To: r.to, NewName: r.newName, Flags: r.in.Flags, Free: r.free}
}

// movesRoot reports whether a rename gives the root of a worktree another name, or something in its
// place. Files are no parts.
func (f *rawFS) movesRoot(r renaming) bool {
	if f.git != nil {
		return f.git.MovesRoot(r.inGit())
	}
	roots := f.entryOf(r.from, r.oldName).HasRule() || f.entryOf(r.to, r.newName).HasRule() // or what is sealed, which the gate then refuses
	return roots && (!f.opts.Layout.HasParts() || isDirMoved(r))
}

// resettle notes that the inode at dir/name is there now, and no longer at its old place. An inode
// that the kernel does not know gets its place when it is looked up. resettle reports whether it is
// a directory.
func (f *rawFS) resettle(wasIn *node, wasCalled string, dir *node, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if n := f.nodes.find(tree.KeyOf(&st)); n != nil {
		n.renamed(wasIn, wasCalled, dir, name)
		f.moved(n, wasIn, dir, name)
	}
	return st.Mode&unix.S_IFMT == unix.S_IFDIR
}
