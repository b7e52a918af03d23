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

// entryName is a name in a directory.
type entryName struct {
	dir  *node
	name string
}

// ruled reports whether there are rules.
func (f *rawFS) ruled() bool { return f.opts.Locks != nil }

// placeOf is what the rules say of a name, and its path below the source.
func (f *rawFS) placeOf(e entryName) (path string, p lockfile.Place) {
	path, ok := f.relOf(e.dir, e.name)
	if !ok {
		return "", lockfile.Place{}
	}
	return path, f.opts.Locks.Rules().At(path)
}

// pathOfFile is the path of an inode below the source; false if it has no name any more.
func (f *rawFS) pathOfFile(n *node) (string, bool) {
	if path, ok := f.relOfNode(n); ok || n.isDir() {
		return path, ok
	}
	c := n.called.Load()
	if c == nil || f.nodes.get(c.dir.id) != c.dir || f.nodeAt(c.dir, c.name) != n {
		return "", false
	}
	return f.relOf(c.dir, c.name)
}

// kindAt tells whether something lies at a name, and whether it is a directory.
func kindAt(e entryName) (exists, isDir bool) {
	var st unix.Stat_t
	if unix.Fstatat(e.dir.fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false, false
	}
	return true, st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// takeTurn waits for the turn to change names of locks, and judges the change. The names that come are those that are
// made, or replaced by a rename. End must follow once the mutation has left its guards.
func (f *rawFS) takeTurn(cancel <-chan struct{}, op gate.Op, h *fuse.InHeader, come []entryName, goes ...entryName) (t *tenure.Turn, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	c := tenure.Change{Op: op, Caller: callerID(h), Away: func() (<-chan struct{}, func()) {
		return f.border.waits(gate.Request{Op: op, Caller: callerID(h), Signal: cancel})
	}}
	for i, e := range slices.Concat(come, goes) {
		path, ok := f.relOf(e.dir, e.name)
		if !ok {
			continue
		}
		n := tenure.Name{Path: path, Comes: i < len(come)}
		n.Exists, n.IsDir = kindAt(e)
		c.Names = append(c.Names, n)
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

// guarding is a lock that guards what a mutation changes.
type guarding struct {
	lock  *tenure.Lock
	makes bool // the mutation makes the name
}

// guardsOfName are the locks that guard a name. Of a directory, those of all right below it count as well.
func (f *rawFS) guardsOfName(op gate.Op, e entryName) []guarding {
	if !f.ruled() {
		return nil
	}
	path, p := f.placeOf(e)
	exists, isDir := kindAt(e)
	all := f.guardedBy(nil, p.Guards, !exists)
	if exists && isDir && op != gate.OpMkdir {
		all = f.guardedBy(all, f.opts.Locks.Rules().Below(path), false)
	}
	if !exists && len(p.Once) > 0 {
		for _, g := range all {
			g.lock.Bore(path)
		}
	}
	return all
}

// guardsOfNode are the locks that guard an inode.
func (f *rawFS) guardsOfNode(op gate.Op, n *node) []guarding {
	if !f.ruled() || op == gate.OpTmpfile { // a file without a name is guarded nowhere
		return nil
	}
	path, ok := f.pathOfFile(n)
	if !ok {
		return nil
	}
	return f.guardedBy(nil, f.opts.Locks.Rules().At(path).Guards, false)
}

func (f *rawFS) guardedBy(all []guarding, by []lockfile.Instance, makes bool) []guarding {
	for _, i := range by {
		l := f.opts.Locks.Use(i)
		if slices.ContainsFunc(all, func(g guarding) bool { return g.lock == l }) {
			l.Done()
			continue
		}
		all = append(all, guarding{l, makes})
	}
	return all
}

// admitGuarded asks the guards of the locks.
func (p *passes) admitGuarded(h *fuse.InHeader) fuse.Status {
	for _, g := range p.guarded {
		req := p.request(h, gate.NoEpoch)
		req.At, req.May, req.Makes = nil, nil, g.makes // a rule outranks places that are exempt, and takes no lease
		if p.n == len(p.of) {
			return fuse.EXDEV
		}
		pass, no := g.lock.Guard().Enter(req)
		if no != nil {
			return fuse.Status(no.Errno)
		}
		p.of[p.n].guard, p.of[p.n].pass, p.of[p.n].lock = g.lock.Guard(), pass, g.lock
		p.n++
	}
	return fuse.OK
}

// dropGuarded lets go of the locks that admitGuarded has asked.
func (p *passes) dropGuarded() {
	for _, g := range p.guarded {
		g.lock.Done()
	}
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
	for _, e := range []entryName{{r.from, r.oldName}, {r.to, r.newName}} {
		away := e == entryName{r.from, r.oldName}
		if st := f.admitFixedName(gate.OpRename, &r.in.InHeader, e, away); st != fuse.OK {
			return nil, st
		}
	}
	all = f.guardsOfName(gate.OpRename, entryName{r.from, r.oldName})
	for _, g := range f.guardsOfName(gate.OpRename, entryName{r.to, r.newName}) {
		if slices.ContainsFunc(all, func(have guarding) bool { return have.lock == g.lock }) {
			g.lock.Done()
			continue
		}
		all = append(all, g)
	}
	return all, fuse.OK
}

// come are the names where something else lies after a rename, and goes the others.
func (r renaming) come() []entryName {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return []entryName{{r.from, r.oldName}, {r.to, r.newName}}
	}
	return []entryName{{r.to, r.newName}}
}

func (r renaming) goes() []entryName {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return nil
	}
	return []entryName{{r.from, r.oldName}}
}

// guardsOfLink are the locks that guard a further name of an inode. It must be under the same locks, and as fixed, as
// the inode is: otherwise it could be written by the other name.
func (f *rawFS) guardsOfLink(n *node, e entryName) (all []guarding, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	all = f.guardsOfName(gate.OpLink, e)
	path, ok := f.pathOfFile(n)
	if !ok {
		return all, fuse.OK
	}
	p := f.opts.Locks.Rules().At(path)
	_, to := f.placeOf(e)
	if len(p.Once) > 0 && len(to.Once) == 0 || len(p.Append) > 0 && len(to.Append) == 0 {
		for _, g := range all {
			g.lock.Done()
		}
		return nil, fuse.EXDEV
	}
	for _, g := range f.guardedBy(nil, p.Guards, false) {
		if slices.ContainsFunc(all, func(have guarding) bool { return have.lock == g.lock }) {
			g.lock.Done()
			continue
		}
		all = append(all, g)
	}
	return all, fuse.OK
}
