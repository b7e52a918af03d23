package fusefs

import (
	"os"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// passes are the permissions for one mutation, one for each guard it concerns:
// mostly one, two where a rename moves a worktree's root.
type passes struct {
	of [4]struct {
		guard *gate.Guard
		pass  gate.Pass
	}
	n int
	// outside is the permission where no guard is asked; against says that a rule forbids
	// the mutation and that the mount only observes.
	outside gate.Pass
	against bool
	// What the mutation is, for the case that it is found to have come too late.
	op          gate.Op
	on          *node // nil for a change of names
	off, length int64
	// through is the freeze that the mutation is made under, mostly nil.
	through *gate.Freeze
	signal  <-chan struct{} // closed when the caller gets a signal
	// spot is where it takes effect, nil where nothing is exempt.
	spot *spot
	// may is what the kernel has not judged of the caller's permission; it is asked
	// before a lease is taken.
	may      func() bool
	round    *node // the directory in which the kernel asks again when it makes the call again; nil: it does not
	changing *node // whose change has begun
}

// byPlace reports whether the place admitted the mutation, and no lease.
func (p *passes) byPlace() bool { return p.n == 1 && p.of[0].pass.ByPlace() }

// leave ends the mutation. Where the store is written by other kernels too, one
// that took effect too late is not acknowledged: *st becomes EIO.
func (p *passes) leave(st *fuse.Status) {
	for i := range p.n {
		g, pass := p.of[i].guard, p.of[i].pass
		if *st == fuse.OK {
			if why := g.Late(pass); why != nil {
				g.ReportLate(pass, why, p.late())
				*st = fuse.EIO
			}
		}
		pass.Leave()
	}
	p.outside.Leave()
	p.end()
}

// request is what a guard is asked.
func (p *passes) request(h *fuse.InHeader, epoch gate.Epoch) gate.Request {
	r := gate.Request{Op: p.op, Epoch: epoch, Caller: callerID(h), May: p.may, Through: p.through, Signal: p.signal, Round: p.round != nil}
	if p.spot != nil {
		r.At = p.spot
	}
	return r
}

// begin says that the mutation is about to change an inode.
func (p *passes) begin(f *rawFS, n *node) {
	p.on = n
	if f.mayLink(n) {
		p.changing = n
		n.beginChange()
	}
}

// end gives back what is held besides the guards' passes.
func (p *passes) end() {
	p.spot.Release()
	if p.changing != nil {
		p.changing.endChange()
		p.changing = nil
	}
}

// settled asks by the rules of now until they are those of the time when the answer
// counts: what has entered is waited for before a root is renamed, so its rules stay
// until it leaves.
func (f *rawFS) settled(ask func() (passes, fuse.Status)) (passes, fuse.Status) {
	for {
		moves := f.moves.Load()
		p, st := ask()
		if f.moves.Load() == moves {
			return p, st
		}
		if st == fuse.OK {
			p.abandon()
		}
	}
}

func (p *passes) late() lease.LateWrite {
	w := lease.LateWrite{Op: p.op.String(), Offset: p.off, Length: p.length}
	if p.on != nil {
		w.File, _ = os.Readlink(p.on.path()) // for people; a failure leaves it empty
	}
	return w
}

// abandon ends the passes of a mutation that is not made.
func (p *passes) abandon() {
	for i := range p.n {
		p.of[i].pass.Leave()
	}
	p.outside.Leave()
	p.end()
}

// claims returns what a handle opened under these passes rests on.
func (p *passes) claims() []claim {
	c := make([]claim, p.n)
	for i := range p.n {
		c[i] = claim{p.of[i].guard, p.of[i].pass.Epoch()}
	}
	return c
}

// admit asks the guards of all rules whether the caller may make the mutation at
// a spot. may is what the kernel has not judged of the caller's permission, nil for
// nothing. With status OK, leave must follow; otherwise nothing is held.
func (f *rawFS) admit(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, rules []*rule, at *spot, may func() bool) (passes, fuse.Status) {
	return f.admitAs(passes{op: op, spot: at, may: may, signal: signal}, h, rules)
}

// admitAs is admit of what p says of the mutation; it may be made under a freeze.
func (f *rawFS) admitAs(p passes, h *fuse.InHeader, rules []*rule) (passes, fuse.Status) {
	op, at := p.op, p.spot
	if len(rules) > 1 && at != nil {
		at.find = nowhere
	}
	for _, r := range rules {
		if st := f.admitRule(&p, p.request(h, gate.NoEpoch), r); st != fuse.OK {
			p.abandon()
			return passes{}, st
		}
	}
	admitted(op, &p)
	return p, fuse.OK
}

func (f *rawFS) admitRule(p *passes, req gate.Request, r *rule) fuse.Status {
	if r.kind != ruleWorktree {
		return f.admitOutside(p, req, r)
	}
	g, err := f.guard(r)
	if err != nil {
		f.opts.Log.Error("no guard for worktree", zap.String("worktree", string(r.id)), zap.Error(err))
		return f.refused()
	}
	if p.n == len(p.of) {
		return fuse.EXDEV // an inode with links in more worktrees than that
	}
	pass, no := g.Enter(req)
	if no != nil {
		if no.Reason == gate.ReasonComeAgain {
			f.kernel.dropAttr(p.round.id)
		}
		return fuse.Status(no.Errno)
	}
	p.of[p.n].guard, p.of[p.n].pass = g, pass
	p.n++
	return fuse.OK
}

// admitOutside asks where no guard is. What jvsfs keeps to itself is nobody's to change,
// also where the mount only observes: the leases rest on it.
func (f *rawFS) admitOutside(p *passes, req gate.Request, r *rule) fuse.Status {
	if r.kind == ruleSealed || r.kind == ruleAppend && !appendOp(req.Op) {
		return f.refuseRule(req.Op, req.Caller, r)
	}
	if r.kind == ruleAppend {
		r = openRule
	}
	pass, ok, would := f.opts.Enforcement.OutsideOf(req, r.kind != ruleOpen)
	switch {
	case ok:
	case req.Killed(): // nobody is there to be told
		return fuse.EINTR
	default:
		return f.refuseRule(req.Op, req.Caller, r)
	}
	if would {
		p.against = true
		f.stats.would.Add(1)
		f.opts.Log.Debug("would refuse", zap.Stringer("op", req.Op), zap.String("name", r.name))
	}
	p.outside.Leave() // one is enough to be waited for
	p.outside = pass
	return fuse.OK
}

// refuseRule refuses what no guard is there for.
func (f *rawFS) refuseRule(op gate.Op, c gate.Caller, r *rule) fuse.Status {
	f.stats.outside.Add(1)
	why, id := gate.ReasonSealed, r.id
	switch r.kind {
	case ruleBadName:
		why, id = gate.ReasonBadWorktree, lease.WorktreeID(r.name)
	case ruleOpen:
		why = gate.ReasonReadOnly
	}
	f.opts.Log.Debug("refused", zap.Stringer("op", op), zap.String("name", r.name), zap.Uint8("reason", uint8(why)))
	if f.opts.OnRefusal != nil {
		f.opts.OnRefusal(&gate.Refusal{Reason: why, Op: op, Errno: f.opts.Errno, Worktree: id, Caller: c})
	}
	return f.refused()
}

// refused is the answer where no guard words one.
func (f *rawFS) refused() fuse.Status { return fuse.Status(f.opts.Errno) }

// admitNode asks about a mutation of an inode's own attributes or content by the
// caller.
func (f *rawFS) admitNode(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, n *node) (passes, fuse.Status) {
	return f.admitNodeIf(signal, op, h, n, mayChange(op, n))
}

// admitNodeIf is admitNode with a judge of its own for what the kernel has not judged.
// Where names of the inode have to be looked for, that is done after the permission was
// judged and the known rules have admitted it, and while nothing is held.
func (f *rawFS) admitNodeIf(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, n *node, may func() bool) (passes, fuse.Status) {
	for range linkTries {
		known := false
		p, st := f.settled(func() (p passes, st fuse.Status) {
			if known, st = f.linksKnown(n); st != fuse.OK {
				return passes{}, st
			}
			var buf [4]*rule
			return f.admit(signal, op, h, n.rulesIf(known, buf[:0]), f.spotOf(op, n), may)
		})
		if st != fuse.OK {
			return p, st
		}
		if known {
			p.begin(f, n)
			return p, st
		}
		p.abandon()
		if may != nil && !may() {
			return passes{}, fuse.EPERM
		}
		if st := f.learnLinks(n); st != fuse.OK {
			return passes{}, st
		}
	}
	return passes{}, f.refused() // the names do not keep still
}

// admitEntry asks about a mutation of the entry name in dir.
func (f *rawFS) admitEntry(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, dir *node, name string) (passes, fuse.Status) {
	if st := checkName(name); st != fuse.OK {
		return passes{}, st
	}
	p, st := f.settled(func() (passes, fuse.Status) {
		if f.covers(op, dir, name) || f.sealedIn(op, dir, name) {
			return passes{}, f.refuseRule(op, callerID(h), sealedRule)
		}
		var buf [4]*rule
		rules := entryRules(buf[:0], dir, name)
		if op == gate.OpMkdir && rules[0].kind == ruleSealed && name == "worktrees" {
			rules[0] = openRule // a repository may get its first worktree while mounted
		}
		return f.admitAs(passes{
			op: op, spot: f.spotOfEntry(op, dir, name), may: mayEntry(op, dir, name), signal: signal, round: roundBy(op, dir),
		}, h, rules)
	})
	if st == fuse.OK && gate.Reserved(name) { // it must not come to a directory that is being moved as free of such names
		return f.atBorder(p)
	}
	return p, st
}

// roundBy is the directory that a call is made again in when it is answered with ESTALE. bind(2)
// is not made again, and makes a node (unix_bind_bsd).
func roundBy(op gate.Op, dir *node) *node {
	if op == gate.OpMknod {
		return nil
	}
	return dir
}

// atBorder waits for the border on behalf of a mutation that is admitted.
func (f *rawFS) atBorder(p passes) (passes, fuse.Status) {
	if !p.spot.take() {
		p.abandon()
		return passes{}, fuse.EBUSY
	}
	return p, fuse.OK
}

// covers reports whether an operation that takes a name away would take away a
// sealed directory, or one that it lies in.
func (f *rawFS) covers(op gate.Op, dir *node, name string) bool {
	if len(f.sealed)+len(f.above) == 0 || op != gate.OpUnlink && op != gate.OpRmdir && op != gate.OpRename {
		return false
	}
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	k := keyOf(&st)
	return f.sealed[k] || f.above[k]
}

// admitHandle asks about a mutation through a handle: only the epochs it was
// opened in count, not who writes. It is counted first, and looked at afterwards whether
// its tree has come under another rule meanwhile.
func (f *rawFS) admitHandle(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, on *handle) (passes, fuse.Status) {
	for {
		disowned := on.disowned.Load()
		p, st := f.admitClaims(signal, op, h, on, disowned)
		if st != fuse.OK || on.disowned.Load() == disowned {
			return p, st
		}
		p.abandon()
	}
}

func (f *rawFS) admitClaims(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, on *handle, disowned bool) (passes, fuse.Status) {
	p := passes{op: op, on: on.node, signal: signal}
	if len(on.claims) == 1 && !disowned {
		p.spot = f.spotOf(op, on.node)
	}
	for _, cl := range on.claims {
		epoch := cl.epoch
		if disowned {
			epoch = gate.Stale
		}
		pass, no := cl.guard.Enter(p.request(h, epoch))
		if no != nil {
			p.abandon()
			return passes{}, fuse.Status(no.Errno)
		}
		p.of[p.n].guard, p.of[p.n].pass = cl.guard, pass
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

// admitUnclaimed asks about a mutation through a handle that was opened where no guard
// is asked.
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

// checkName keeps a name to one component, whatever a request says.
func checkName(name string) fuse.Status {
	if len(name) > unix.NAME_MAX {
		return fuse.Status(unix.ENAMETOOLONG)
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fuse.EINVAL
	}
	return fuse.OK
}
