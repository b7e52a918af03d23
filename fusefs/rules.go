package fusefs

import (
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Rules say which files are locks of other programs, and what they guard (gate/lockfile). A rule goes by the place that
// the backing file system tells of an inode, as exempt places do, and never by a path of the caller. A mutation of what a
// lock guards asks the guard of that lock besides those of the layout. A change of a lock's own name takes its turn
// first (gate/tenure). Without rules all of this costs a comparison.

// ruled reports whether there are rules.
func (f *rawFS) ruled() bool { return f.opts.Locks != nil }

// takeTurnInside waits for the turn to change names of locks, and judges the change. The names that come are those that are
// made, or replaced by a rename. End must follow once the mutation has left its guards.
func (f *rawFS) takeTurnInside(cancel <-chan struct{}, op gate.Op, h *fuse.InHeader, come []target, goes ...target) (t *tenure.Turn, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	c := tenure.Change{Op: op}
	for _, s := range come {
		c.Names = nameOf(c.Names, s, op, true)
	}
	for _, s := range goes {
		c.From = s.path
		c.Names = nameOf(c.Names, s, op, false)
	}
	if len(c.Names) == 0 {
		return nil, fuse.OK
	}
	c.Caller = callerID(h)
	c.Away = func() (<-chan struct{}, func()) {
		return f.opts.Enforcement.Wait(gate.Request{Op: op, Caller: c.Caller, Signal: cancel})
	}
	t, no, interrupted := f.opts.Locks.Begin(c)
	switch {
	case interrupted:
		return nil, fuse.EINTR
	case no != nil:
		f.stats.outside.Add(1)
		return nil, fuse.Status(no.Errno)
	}
	return t, fuse.OK
}

// nameOf adds a name to those of a change, if it is a lock's, or may be that of a directory with locks below.
func nameOf(to []tenure.Name, s target, op gate.Op, comes bool) []tenure.Name {
	if s.path == "" || len(s.place.Locks) == 0 && (op != gate.OpRename || !s.isDir) {
		return to
	}
	return append(to, tenure.Name{Path: s.path, Comes: comes, Locks: s.place.Locks, File: s.gets, Exists: s.exists, IsDir: s.isDir})
}

// guarding is what guards what a mutation changes: a lock, or a maintenance window; or it counts the mutation.
type guarding struct {
	lock   *tenure.Lock
	makes  bool // the mutation makes the name
	window *tenure.Window
	counts *tenure.Passing
}

// guardsOfName are the locks that guard a name. Of a directory, those of all right below it count as well.
func (f *rawFS) guardsOfName(op gate.Op, s target) []guarding {
	if s.path == "" {
		return nil
	}
	all := f.guardedBy(nil, s.place.Guards, !s.exists)
	if op == gate.OpRmdir || op == gate.OpRename && s.isDir {
		all = f.guardedBy(all, f.opts.Locks.Rules().Below(s.path), false)
	}
	if !s.exists && len(s.place.Once) > 0 {
		for _, g := range all {
			g.lock.Bore(s.path)
		}
	}
	return all
}

// guardsOfNode are the locks that guard an inode.
func (f *rawFS) guardsOfNode(op gate.Op, at inodeTarget) []guarding {
	if op == gate.OpTmpfile { // a file without a name is guarded nowhere
		return nil
	}
	return f.guardedBy(nil, at.place.Guards, false)
}

func (f *rawFS) guardedBy(all []guarding, by []lockfile.Instance, makes bool) []guarding {
	for _, i := range by {
		l := f.opts.Locks.Use(i)
		if slices.ContainsFunc(all, func(g guarding) bool { return g.lock == l }) {
			l.Done()
			continue
		}
		all = append(all, guarding{lock: l, makes: makes})
	}
	return all
}

// admitGuarded asks the guards of the locks.
func (p *permit) admitGuarded(h *fuse.InHeader) fuse.Status {
	for _, g := range p.guarded {
		if g.counts != nil {
			continue
		}
		req := p.request(h, gate.NoEpoch)
		req.At, req.May, req.Makes = nil, nil, g.makes // a rule outranks places that are exempt, and takes no lease
		if _, st := p.enter(g.guard(), req, g.lock, fuse.EXDEV); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// dropGuarded lets go of the locks that admitGuarded has asked.
func (p *permit) dropGuarded() {
	drop(p.guarded)
	p.guarded = nil
}

// claimNow is the epoch in which a claim is judged. Whoever holds the lock now may write through a file that was opened
// under an earlier tenure: programs keep a file open, and take its lock for each change. A store through a mapping has no
// writer, so it keeps the epoch.
func (c claim) claimNow(op gate.Op, stored bool) gate.Epoch {
	if c.lock != nil && !stored && op != gate.OpFsync && !c.guard.Current(c.epoch) {
		return gate.NoEpoch
	}
	return c.epoch
}

// guardsOfRename are the locks that guard either name of a rename.
func (f *rawFS) guardsOfRename(r renaming) (all []guarding, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	var over []guarding
	for _, s := range r.seen {
		of, st := f.admitFixedName(gate.OpRename, &r.in.InHeader, s)
		if st != fuse.OK {
			drop(over)
			return nil, st
		}
		over = append(over, of...)
	}
	all = append(over, f.guardsOfName(gate.OpRename, r.seen[0])...)
	for _, g := range f.guardsOfName(gate.OpRename, r.seen[1]) {
		if slices.ContainsFunc(all, func(have guarding) bool { return have.lock == g.lock }) {
			g.lock.Done()
			continue
		}
		all = append(all, g)
	}
	return all, fuse.OK
}

// come are the names where something else lies after a rename, and goes the others.
func (r renaming) come() []target {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return r.seen[:]
	}
	return r.seen[1:]
}

func (r renaming) goes() []target {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return nil
	}
	return r.seen[:1]
}

// guardsOfLink are the locks that guard a further name of an inode. It must be under the same locks, and as fixed, as
// the inode is: otherwise it could be written by the other name. A name that is a lock itself guards nothing.
func (f *rawFS) guardsOfLink(n *node, s target) (all []guarding, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	if path, ok := f.pathOfFile(n); ok && len(s.place.Locks) == 0 {
		of := f.opts.Locks.Rules().At(path)
		// A name under once may be the last of a file that is made elsewhere, as git makes its objects.
		if len(of.Once) > 0 && len(s.place.Once) == 0 || len(of.Append) > 0 != (len(s.place.Append) > 0) || !sameLocks(of.Guards, s.place.Guards) {
			return nil, fuse.EXDEV
		}
	}
	all = append(f.over(s.path, s.place), f.guardsOfName(gate.OpLink, s)...)
	return all, fuse.OK
}

func sameLocks(a, b []lockfile.Instance) bool {
	return slices.EqualFunc(a, b, func(x, y lockfile.Instance) bool { return x.Rule == y.Rule && x.Path == y.Path })
}
