package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// admitHandle asks about a mutation through a handle. Only the epochs that it was opened in count,
// not the writer. It is counted first. Then admitHandle looks again whether a rename has put its
// tree under another rule.
func (f *rawFS) admitHandle(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, on *handle) (passes, fuse.Status) {
	return f.admitHandleAs(passes{op: op, on: on.node, signal: signal}, h, on)
}

// admitHandleAs is admitHandle for the mutation that p describes.
func (f *rawFS) admitHandleAs(as passes, h *fuse.InHeader, on *handle) (passes, fuse.Status) {
	op, signal := as.op, as.signal
	if on.ofLock && !on.disowned.Load() {
		p, st := f.admitNodeIf(signal, op, h, on.node, nil)
		if st != fuse.OK || !on.disowned.Load() {
			return p, st
		}
		p.abandon()
	}
	for {
		disowned := on.disowned.Load()
		p, st := f.admitClaims(as, h, on, disowned)
		if st == fuse.OK {
			p.hold(f, f.holdOfNode(on.node))
		}
		if st == fuse.OK && !disowned && f.lostBranch(on) {
			on.disowned.Store(true)
		}
		if st != fuse.OK || on.disowned.Load() == disowned {
			if st == fuse.OK {
				st = f.admitSnapshotNode(&p, op, h, on.node)
			}
			return p, st
		}
		p.abandon()
	}
}

func (f *rawFS) admitClaims(p passes, h *fuse.InHeader, on *handle, disowned bool) (passes, fuse.Status) {
	op := p.op
	if len(on.claims) == 1 && !disowned {
		p.spot = f.spotOf(op, on.node)
	}
	if disowned {
		if st := f.admitMovedIn(&p, h, on); st != fuse.OK {
			p.abandon()
			return passes{}, st
		}
	}
	movedIn := p.n > 0
	for _, cl := range on.claims {
		if p.n == len(p.of) {
			p.abandon()
			return passes{}, f.refused()
		}
		epoch := cl.claimNow(op, h.Pid == 0)
		if disowned {
			epoch = gate.Stale
		}
		pass, no := cl.guard.Enter(p.request(h, epoch))
		if no != nil {
			p.abandon()
			return passes{}, fuse.Status(no.Errno)
		}
		p.of[p.n].guard, p.of[p.n].pass, p.of[p.n].lock = cl.guard, pass, cl.lock
		p.n++
	}
	if len(on.claims) == 0 && !movedIn || on.against {
		if st := f.admitUnclaimed(&p, h, on, disowned); st != fuse.OK {
			p.abandon()
			return passes{}, st
		}
	}
	admitted(op, &p)
	p.begin(f, on.node)
	return p, fuse.OK
}

// admitMovedIn asks the worktrees into which a rename has put the file of a handle. They refuse, or if
// the mount only observes they let it through, but not while a snapshot is taken there.
func (f *rawFS) admitMovedIn(p *passes, h *fuse.InHeader, on *handle) fuse.Status {
	for _, g := range f.movedInto(on) {
		if p.n == len(p.of) {
			return f.refused()
		}
		pass, no := g.Enter(p.request(h, gate.Moved))
		if no != nil {
			return fuse.Status(no.Errno)
		}
		p.of[p.n].guard, p.of[p.n].pass = g, pass
		p.n++
	}
	return fuse.OK
}

// movedInto are the guards of the worktrees in which the file of a disowned handle lies, and in which it was not opened.
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
func (f *rawFS) admitUnclaimed(p *passes, h *fuse.InHeader, on *handle, disowned bool) fuse.Status {
	if on.audit && !appendOp(p.op) {
		return f.refused()
	}
	req := p.request(h, gate.NoEpoch)
	pass, ok, would := f.opts.Enforcement.OutsideOf(req, on.against || disowned)
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
