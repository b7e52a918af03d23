package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
)

// Link gives an inode one more name. Its present place and the new one are both judged. They must
// be under the same guard: otherwise a file could be written under a lease that does not cover its
// other name.
func (f *rawFS) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) (st fuse.Status) {
	f.stats.count(gate.OpLink)
	dir, n := f.nodes.get(in.NodeId), f.nodes.get(in.Oldnodeid)
	if dir == nil || n == nil {
		return fuse.ENOENT
	}
	drop := f.foreignPages(false, n, dir)
	drop() // before any lock is held: write-back comes as requests
	defer drop()
	at := f.targetOf(dir, name)
	at.seen.Gets(n)
	turn, st := f.takeTurn(cancel, gate.OpLink, &in.InHeader, []lockfiles.Name{at.seen})
	if st != fuse.OK {
		return st
	}
	defer func() { turn.End(st == fuse.OK) }()
	p, r, st := f.admitLink(cancel, in, n, at)
	if st != fuse.OK {
		return st
	}
	if admin, ok := f.git.ChangesNotes(dir, name); ok {
		defer f.git.Noted(admin, f.writerOf(cancel, &in.InHeader)) // once the change has left
	}
	defer p.leave(&st)
	own := changing(dir, name, 1)
	link := func() error { return linkInode(n, dir.fd, name) }
	if err := standIn(&in.InHeader).as(func() error { return retry(link) }); err != nil {
		own.unchanged()
		return status(err)
	}
	if f.mayLink(n) {
		f.hardlinks.Linked(n.linkFile(), r)
	}
	if f.git.IsObject(dir, name) {
		f.disownMoved(n, dir, name, true)
	}
	n.nameless.named()
	return f.entry(&in.InHeader, dir, name, out)
}

// admitLink also returns the one rule for the inode with its new name.
func (f *rawFS) admitLink(cancel <-chan struct{}, in *fuse.LinkIn, n *node, at target) (permit, *layout.Rule, fuse.Status) {
	if st := checkName(at.name); st != fuse.OK {
		return permit{}, nil, st
	}
	c := &furtherName{f: f, signal: cancel, h: &in.InHeader, n: n, at: at}
	c.names[0] = at.engineName()
	c.mutation = engine.Mutation{Op: gate.OpLink, Caller: callerID(&in.InHeader), Inode: n, Names: c.names[:1]}
	p, st := f.begin(c)
	return p, c.rule, st
}

// furtherName gives an inode one more name.
type furtherName struct {
	nameChange
	f      *rawFS
	signal <-chan struct{}
	h      *fuse.InHeader
	n      *node
	at     target

	knows bool // all names of the inode
	rule  *layout.Rule
}

// ask judges by the names known so far.
func (c *furtherName) ask() (p permit, st fuse.Status) {
	f, n, dir, name := c.f, c.n, c.at.dir, c.at.name
	if st := f.askFirst(&c.mutation); st != fuse.OK {
		return permit{}, st
	}
	if c.knows, st = f.linksKnown(n); st != fuse.OK {
		return permit{}, st
	}
	var buf [4]*layout.Rule
	rules := f.rulesIf(c.knows, n, f.entryRules(buf[:0], dir, name))
	if f.git != nil && (n.isBranch() || f.git.NamesBranch(dir, name)) {
		rules = append(rules[:0], layout.Fixed)
	}
	if len(rules) > 1 {
		return permit{}, fuse.EXDEV
	}
	c.rule = rules[0]
	guarded, st := f.rulesOfLink(n, c.at)
	if st != fuse.OK {
		return permit{}, st
	}
	return f.admitAs(permit{
		needs: needs{unknown: !c.knows, moves: true},
		op:    gate.OpLink, place: f.exempt.OfLink(n, dir, name), may: mayLink(n, dir), signal: c.signal, round: dir, guarded: guarded,
	}, c.h, rules)
}

func (c *furtherName) learn() fuse.Status {
	return c.f.learnLinks(c.n, gate.Request{Caller: callerID(c.h), Signal: c.signal})
}

func (c *furtherName) By() engine.Judgement    { return engine.Judgement{} } // the content of files never decides
func (c *furtherName) Again() engine.Judgement { return engine.Judgement{} }

// Unlink removes a name.
func (f *rawFS) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return f.remove(cancel, gate.OpUnlink, h, name, 0)
}

// Rmdir removes an empty directory.
func (f *rawFS) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return f.remove(cancel, gate.OpRmdir, h, name, unix.AT_REMOVEDIR)
}

func (f *rawFS) remove(cancel <-chan struct{}, op gate.Op, h *fuse.InHeader, name string, flags int) (st fuse.Status) {
	f.stats.count(op)
	dir := f.nodes.get(h.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	at := f.targetOf(dir, name)
	turn, st := f.takeTurn(cancel, op, h, nil, at.seen)
	if st != fuse.OK {
		return st
	}
	defer func() { turn.End(st == fuse.OK) }()
	p, st := f.admitEntry(cancel, op, h, at)
	if st != fuse.OK {
		return st
	}
	if dir.Role().NamesCheckouts() {
		defer f.git.Reread() // once the change has left
	}
	defer p.leave(&st)
	went, own := p.dying(), changing(dir, name, 1)
	st = status(retry(func() error { return unix.Unlinkat(dir.fd, name, flags) }))
	went(st == fuse.OK)
	if st != fuse.OK {
		own.unchanged()
	}
	return st
}

// linkInode gives an inode a name. AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH (open(2)); a user goes by the
// descriptor's place in /proc, as the manual says.
func linkInode(n *node, dirfd int, name string) error {
	if unprivileged() {
		return unix.Linkat(unix.AT_FDCWD, n.path(), dirfd, name, unix.AT_SYMLINK_FOLLOW)
	}
	return unix.Linkat(n.fd, "", dirfd, name, unix.AT_EMPTY_PATH)
}
