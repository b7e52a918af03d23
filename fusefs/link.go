package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// Link gives an inode one more name. Both its present place and the new one are
// asked, and they must be under the same guard: otherwise a file could be written
// under a lease that does not cover its other name.
func (f *rawFS) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) (st fuse.Status) {
	f.stats.count(gate.OpLink)
	dir, n := f.nodes.get(in.NodeId), f.nodes.get(in.Oldnodeid)
	if dir == nil || n == nil {
		return fuse.ENOENT
	}
	drop := f.foreignPages(false, n, dir)
	drop() // before any lock is held: what is written back comes as requests
	defer drop()
	p, st := f.admitLink(in, n, dir, name)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	if err := retry(func() error { return unix.Linkat(n.fd, "", dir.fd, name, unix.AT_EMPTY_PATH) }); err != nil {
		return status(err)
	}
	n.nameless.named()
	return f.entry(&in.InHeader, dir, name, out)
}

func (f *rawFS) admitLink(in *fuse.LinkIn, n, dir *node, name string) (passes, fuse.Status) {
	if st := checkName(name); st != fuse.OK {
		return passes{}, st
	}
	held := f.settle()
	if st := f.learnLinks(n); st != fuse.OK {
		return f.unadmitted(held, st)
	}
	var buf [4]*rule
	rules := n.rules(entryRules(buf[:0], dir, name))
	if len(rules) > 1 {
		return f.unadmitted(held, fuse.EXDEV)
	}
	p, st := f.admit(gate.OpLink, &in.InHeader, rules, f.spotOfLink(n, dir, name))
	if st != fuse.OK {
		return f.unadmitted(held, st)
	}
	p.settled = held
	return f.atBorder(p)
}

// Unlink takes a name away.
func (f *rawFS) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return f.remove(gate.OpUnlink, h, name, 0)
}

// Rmdir removes an empty directory.
func (f *rawFS) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return f.remove(gate.OpRmdir, h, name, unix.AT_REMOVEDIR)
}

func (f *rawFS) remove(op gate.Op, h *fuse.InHeader, name string, flags int) (st fuse.Status) {
	f.stats.count(op)
	dir := f.nodes.get(h.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	p, st := f.admitEntry(op, h, dir, name)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	went := p.dying()
	st = status(retry(func() error { return unix.Unlinkat(dir.fd, name, flags) }))
	went(st == fuse.OK)
	return st
}
