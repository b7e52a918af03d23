package fusefs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// What rules say of other programs' lock files is asked here, and answered in package lockfiles.

// ruled reports whether there are rules.
func (f *rawFS) ruled() bool { return f.rules != nil }

// ruledFiles is the file system as the rules see it.
type ruledFiles struct{ f *rawFS }

// PathOf is the path of an inode below the source; false if it has no name any more.
func (r ruledFiles) PathOf(i tree.Inode) (string, bool) {
	f, n := r.f, i.(*node) // no others are asked about
	if n.IsDir() {
		path, ok := f.dirPath(n)
		return tree.Relative(path), ok
	}
	if path, ok := f.source.Path(n.fd); ok {
		return path, ok
	}
	c := n.called.Load()
	if c == nil || f.nodes.get(c.dir.id) != c.dir || f.nodeAt(c.dir, c.name) != n {
		return "", false
	}
	return f.source.PathOf(c.dir.fd, c.name)
}

// Replaced reports whether another mount is in the place of this one.
func (r ruledFiles) Replaced() bool { return r.f.replaceBarrier.gone() }

// Expire makes the kernel ask again for a name.
func (r ruledFiles) Expire(dir tree.Key, name string) {
	if n := r.f.nodes.find(dir); n != nil {
		r.f.kernel.Expire(n.id, name)
	}
}

// Prepare adds hooks to the guard of a lock. What the kernel believes of names rests on the guards of the layout, so
// only pages are dropped.
func (r ruledFiles) Prepare(g *gate.Guard) {
	g.OnYield(r.f.flusher(g))
	g.OnClose(func(lease.Loss) {
		_ = r.f.dropPages(context.Background(), func(h *handle) bool { return h.restsOn(g) }) // without a deadline there is no error
	})
}

// target is a name in a directory, and what the rules say of it.
type target struct {
	dir  *node
	name string
	seen lockfiles.Name
}

// targetOf finds out what the rules say of a name.
func (f *rawFS) targetOf(dir *node, name string) target {
	t := target{dir: dir, name: name}
	if f.ruled() {
		t.seen = f.rules.Name(t.engineName())
	}
	return t
}

// engineName is the name as the policies are asked about it.
func (t target) engineName() engine.Name { return engine.Name{Dir: t.dir, Name: t.name} }

// old and next are the names of a rename.
func (r renaming) old() engine.Name  { return engine.Name{Dir: r.from, Name: r.oldName} }
func (r renaming) next() engine.Name { return engine.Name{Dir: r.to, Name: r.newName} }

// come are the names where something else lies after a rename, and goes the others.
func (r renaming) come() []lockfiles.Name {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return r.seen[:]
	}
	return r.seen[1:]
}

func (r renaming) goes() []lockfiles.Name {
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		return nil
	}
	return r.seen[:1]
}

// movesFiles reports whether a rename is of files alone.
func (r renaming) movesFiles() bool {
	return r.seen[0].IsFile() && (r.in.Flags&unix.RENAME_EXCHANGE == 0 || r.seen[1].IsFile())
}

// rulesOfName refuses a change of a name, or says what guards it.
func (f *rawFS) rulesOfName(op gate.Op, h *fuse.InHeader, at target) (lockfiles.Guards, fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	over, st := f.ruledBy(f.rules.FixedName(op, callerID(h), at.seen))
	if st != fuse.OK {
		return nil, st
	}
	return append(over, f.rules.Guards(op, at.seen)...), fuse.OK
}

// rulesOfInode is rulesOfName for an inode.
func (f *rawFS) rulesOfInode(op gate.Op, h *fuse.InHeader, n *node) (lockfiles.Guards, fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	at := f.rules.Place(n)
	over, st := f.ruledBy(f.rules.FixedInode(op, callerID(h), n, at))
	if st != fuse.OK {
		return nil, st
	}
	return append(over, f.rules.GuardsOfInode(op, at)...), fuse.OK
}

// ruledBy answers what the rules have said of a change. After a refusal it is guarded by nothing.
func (f *rawFS) ruledBy(all lockfiles.Guards, err error) (lockfiles.Guards, fuse.Status) {
	st := f.answer(err)
	if st != fuse.OK {
		all.Drop()
		return nil, st
	}
	return all, fuse.OK
}

// rulesOfRename is rulesOfName for both names of a rename.
func (f *rawFS) rulesOfRename(r renaming) (all lockfiles.Guards, st fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	for _, s := range r.seen {
		of, err := f.rules.FixedName(gate.OpRename, callerID(&r.in.InHeader), s)
		if all, st = f.ruledBy(append(all, of...), err); st != fuse.OK {
			return nil, st
		}
	}
	return f.rules.GuardsOfRename(all, r.seen), fuse.OK
}

// rulesOfLink is rulesOfName for a further name of an inode.
func (f *rawFS) rulesOfLink(n *node, at target) (lockfiles.Guards, fuse.Status) {
	if !f.ruled() {
		return nil, fuse.OK
	}
	return f.ruledBy(f.rules.GuardsOfLink(n, at.seen))
}

// admitGuarded asks the gates of lock files.
func (p *permit) admitGuarded(h *fuse.InHeader) fuse.Status {
	for _, g := range p.guarded {
		if st := p.enterGuard(h, g); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// enterGuard asks the gate of a lock file, or of a window. A rule outranks places that are exempt, and takes no lease.
func (p *permit) enterGuard(h *fuse.InHeader, g lockfiles.Guard) fuse.Status {
	of := g.Gate()
	if of == nil {
		return fuse.OK
	}
	req := p.request(h, gate.NoEpoch)
	req.At, req.May, req.Makes = nil, nil, g.Makes
	_, st := p.enter(of, req, g.Lock, fuse.EXDEV)
	return st
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

// admitSize refuses to truncate a file that only grows. on is the handle by which it was admitted, nil for none.
func (f *rawFS) admitSize(p *permit, h *fuse.InHeader, n *node, on *handle, size uint64) fuse.Status {
	switch {
	case !f.ruled() || n.IsDir() || p.guarded.InWindow():
		return fuse.OK
	case on != nil && (on.grows != nil || on.made):
		return f.admitGrowth(p, h, on, true, size)
	}
	if r := f.rules.Growing(n); r != nil {
		return f.answer(f.rules.Grows(gate.OpSetAttr, callerID(h), n, r, n.fd, size))
	}
	return fuse.OK
}

// admitWindows asks the gates of the maintenance windows that are open over a file which is changed through a handle that a rule says
// something of. The change is counted until it has left. It may wait there, so it holds nothing else yet.
func (f *rawFS) admitWindows(p *permit, h *fuse.InHeader, on *handle) fuse.Status {
	if on.grows == nil && !on.made || p.op == gate.OpFsync {
		return fuse.OK
	}
	over := f.rules.Windows(on.node)
	p.guarded = append(p.guarded, over...)
	for _, w := range over {
		if g := w.Gate(); g == nil || on.restsOn(g) {
			continue
		}
		if st := p.enterGuard(h, w); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// admitGrowth refuses to write below the end of a file that only grows, but in a window, which admitWindows has asked.
func (f *rawFS) admitGrowth(p *permit, h *fuse.InHeader, on *handle, below bool, off uint64) fuse.Status {
	if on.grows == nil || !below || p.guarded.InWindow() {
		return fuse.OK
	}
	return f.answer(f.rules.Grows(p.op, callerID(h), on.node, on.grows, on.fd, off))
}
