package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// admitHandle asks about a mutation through a handle. Only the epochs that it was opened in count,
// not the writer. It is counted first. Then admitHandle looks again whether a rename has put its
// tree under another rule.
func (f *rawFS) admitHandle(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, on *handle) (permit, fuse.Status) {
	return f.admitHandleAs(permit{op: op, on: on.node, signal: signal}, h, on)
}

// admitHandleInside is admitHandle for the mutation that p describes.
func (f *rawFS) admitHandleInside(as permit, h *fuse.InHeader, on *handle) (permit, fuse.Status) {
	op, signal := as.op, as.signal
	if on.ofLock && !on.revoked.Load() {
		p, st := f.admitNodeInside(signal, op, h, on.node, nil)
		if st != fuse.OK || !on.revoked.Load() {
			return p, st
		}
		p.abandon()
	}
	for {
		revoked := on.revoked.Load()
		p, st := f.admitClaims(as, h, on, revoked)
		if st != fuse.OK {
			return p, st
		}
		if len(f.policies) > 0 {
			again := false
			if p, again, st = f.askPolicies(p, engine.Mutation{Op: op, Caller: callerID(h), Inode: on.node}); again {
				continue
			}
			if st != fuse.OK {
				return p, st
			}
		}
		if f.git != nil && !revoked && f.lostBranch(on) {
			on.revoked.Store(true)
		}
		if on.revoked.Load() == revoked {
			return p, fuse.OK
		}
		p.abandon()
	}
}

func (f *rawFS) admitClaims(p permit, h *fuse.InHeader, on *handle, revoked bool) (permit, fuse.Status) {
	op := p.op
	if len(on.claims) == 1 && !revoked {
		p.place = f.exempt.OfInode(op, on.node)
	}
	if revoked {
		if st := f.admitMovedIn(&p, h, on); st != fuse.OK {
			p.abandon()
			return permit{}, st
		}
	}
	movedIn := p.n > 0
	for _, cl := range on.claims {
		epoch := cl.claimNow(op, h.Pid == 0)
		if revoked {
			epoch = gate.Stale
		}
		if _, st := p.enter(cl.guard, p.request(h, epoch), cl.lock, f.refused()); st != fuse.OK {
			p.abandon()
			return permit{}, st
		}
	}
	if len(on.claims) == 0 && !movedIn || on.against {
		if st := f.admitUnclaimed(&p, h, on, revoked); st != fuse.OK {
			p.abandon()
			return permit{}, st
		}
	}
	if st := f.admitWindows(&p, h, on); st != fuse.OK {
		p.abandon()
		return permit{}, st
	}
	admitted(op, &p)
	p.begin(f, on.node)
	return p, fuse.OK
}

// admitMovedIn asks the worktrees into which a rename has put the file of a handle. They refuse, or if
// the mount only observes they let it through, but not while a snapshot is taken there.
func (f *rawFS) admitMovedIn(p *permit, h *fuse.InHeader, on *handle) fuse.Status {
	for _, g := range f.movedInto(on) {
		if _, st := p.enter(g, p.request(h, gate.Moved), nil, f.refused()); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// movedInto are the guards of the worktrees in which the file of a revoked handle lies, and in which it was not opened.
func (f *rawFS) movedInto(on *handle) (all []*gate.Guard) {
	var buf [4]*layout.Rule
	for _, r := range on.node.rules(buf[:0]) {
		if r.Kind != layout.Guarded || on.claimedBy(f, r) {
			continue
		}
		if g, err := f.guard(r); err == nil {
			all = append(all, g)
		}
	}
	return all
}

// admitUnclaimed asks about a mutation through a handle that was opened where there is no guard.
func (f *rawFS) admitUnclaimed(p *permit, h *fuse.InHeader, on *handle, revoked bool) fuse.Status {
	if on.audit && !appendOp(p.op) {
		return f.refused()
	}
	req := p.request(h, gate.NoEpoch)
	pass, ok, would := f.opts.Enforcement.OutsideOf(req, on.against || revoked)
	switch {
	case ok:
	case req.Killed():
		return fuse.EINTR
	default:
		return f.refused()
	}
	if would {
		f.stats.would.Add(1)
	}
	p.outside = pass
	return fuse.OK
}
