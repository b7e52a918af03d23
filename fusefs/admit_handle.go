package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
)

// admitHandle asks about a mutation through a handle. Only the epochs that it was opened in count,
// not the writer. It is counted first. Then admitHandle looks again whether a rename has put its
// tree under another rule.
func (f *rawFS) admitHandle(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, on *handle) (passes, fuse.Status) {
	return f.admitHandleAs(passes{op: op, on: on.node, signal: signal}, h, on)
}

// admitHandleInside is admitHandle for the mutation that p describes.
func (f *rawFS) admitHandleInside(as passes, h *fuse.InHeader, on *handle) (passes, fuse.Status) {
	op, signal := as.op, as.signal
	if on.ofLock && !on.disowned.Load() {
		p, st := f.admitNodeInside(signal, op, h, on.node, nil)
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
	for _, cl := range on.claims {
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
	if len(on.claims) == 0 || on.against {
		if st := f.admitUnclaimed(&p, h, on, disowned); st != fuse.OK {
			p.abandon()
			return passes{}, st
		}
	}
	admitted(op, &p)
	p.begin(f, on.node)
	return p, fuse.OK
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
