package fusefs

import (
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/exempt"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// permit has the permissions for one mutation. There is one for each guard that it concerns: mostly
// one, and two if a rename moves a worktree's root.
type permit struct {
	of [8]struct {
		guard *gate.Guard
		pass  gate.Pass
		lock  *tenure.Lock // whose guard it is; nil: a worktree's
	}
	n int
	// guarded are the locks of other programs that guard what is changed.
	guarded lockfiles.Guards
	// outside is the permission where there is no guard. against says that a rule forbids the
	// mutation, but the mount only observes.
	outside gate.Pass
	against bool
	// What the mutation is, in case it is found to be late.
	op          gate.Op
	on          *node // nil for a change of names
	off, length int64
	// through is the freeze that the mutation belongs to, mostly nil.
	through *gate.Freeze
	signal  <-chan struct{} // closed when the caller gets a signal
	// stored says that the kernel writes back what was stored through a mapping.
	stored bool
	// place is that of the mutation, nil if nothing is exempt.
	place *exempt.Place
	// at and name are what is written, for people: an inode, or an entry of a directory. nil: not told.
	at   *node
	name string
	// may judges what the kernel has not judged of the caller's permission. It is asked before a
	// lease is taken.
	may      func() bool
	round    *node // the directory in which the kernel asks again when it repeats the call; nil: it does not repeat it
	changing *node // its change has begun
	needs    needs
	held     engine.Held
	by       *engine.Admitted // by the policies of the mount
	barrier  func()           // leaves it; nil: not inside
}

// byPlace reports whether only the place admitted the mutation, and no lease.
func (p *permit) byPlace() bool { return p.n == 1 && p.of[0].pass.ByPlace() }

// request is the question to a guard.
func (p *permit) request(h *fuse.InHeader, epoch gate.Epoch) gate.Request {
	r := gate.Request{Op: p.op, Epoch: epoch, Caller: callerID(h), May: p.may, Through: p.through, Signal: p.signal, EstaleRetry: p.round != nil, Stored: p.stored}
	if p.at != nil {
		r.Node, r.Name = p.at.fd, p.name
	}
	if p.place != nil {
		p.place.For(r)
		r.At = p.place
	}
	return r
}

// enter asks one gate. full is the answer if there is no room for its pass.
func (p *permit) enter(g *gate.Guard, r gate.Request, of *tenure.Lock, full fuse.Status) (*gate.Refusal, fuse.Status) {
	if p.n == len(p.of) {
		return nil, full
	}
	if engine.Checked {
		p.held.Reach(engine.Gates)
	}
	pass, no := g.Enter(r)
	if no != nil {
		return no, fuse.Status(no.Errno)
	}
	p.of[p.n].guard, p.of[p.n].pass, p.of[p.n].lock = g, pass, of
	p.n++
	return nil, fuse.OK
}

// begin says that the mutation is about to change an inode.
func (p *permit) begin(f *rawFS, n *node) {
	p.on = n
	if f.mayLink(n) {
		p.changing = n
		n.links.Begin(n.fd)
	}
}

// end frees what is held besides the guards' passes.
func (p *permit) end() {
	if p.by != nil {
		p.by.Drop()
		p.by = nil
	}
	p.held.Release()
	p.guarded.Drop()
	p.guarded = nil
	if p.barrier != nil {
		p.barrier()
		p.barrier = nil
	}
	p.place.Release()
	if p.changing != nil {
		p.changing.links.End(p.changing.fd)
		p.changing = nil
	}
}

// settled asks by the current rules, again and again until these rules are still the current ones
// after the answer. Before a root is renamed everything that has entered is waited for. So the
// rules of a mutation do not change until it leaves.
func (f *rawFS) settled(ask func() (permit, fuse.Status)) (permit, fuse.Status) {
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

// abandon ends the permit of a mutation that is not made.
func (p *permit) abandon() {
	for i := range p.n {
		p.of[i].pass.End()
	}
	p.outside.End()
	p.end()
}

// claims returns the claims of a handle that is opened under this permit.
func (p *permit) claims() []claim {
	c := make([]claim, p.n)
	for i := range p.n {
		c[i] = claim{p.of[i].guard, p.of[i].pass.Epoch(), p.of[i].lock}
	}
	return c
}

// admitAs asks the guards of all rules whether the caller may make the mutation that p describes.
// After OK, leave must follow; otherwise nothing is held.
func (f *rawFS) admitAs(p permit, h *fuse.InHeader, rules []*layout.Rule) (permit, fuse.Status) {
	op, at := p.op, p.place
	if len(rules) > 1 && at != nil {
		at.Nowhere()
	}
	for _, r := range rules {
		if st := f.admitRule(&p, p.request(h, gate.NoEpoch), r); st != fuse.OK {
			p.abandon()
			return permit{}, st
		}
	}
	if st := p.admitGuarded(h); st != fuse.OK {
		p.abandon()
		return permit{}, st
	}
	admitted(op, &p)
	return p, fuse.OK
}

func (f *rawFS) admitRule(p *permit, req gate.Request, r *layout.Rule) fuse.Status {
	switch r.Kind {
	case layout.Guarded:
	case layout.Unheld:
		req.Makes = true // which needs no lease, and takes none
	case layout.Everybodys, layout.AddOnly:
		if f.isShared(req.Caller) {
			return f.admitOutside(p, req, layout.Open)
		}
		r = layout.LinkedRoot(f.opts.Layout.Tree()).Own // which says why not
	case layout.Snapshot: // once it is READY it is refused, see admitSnapshotNames
		return f.admitOutside(p, req, layout.Open)
	default:
		return f.admitOutside(p, req, r)
	}
	g, err := f.guard(r)
	if err != nil {
		f.opts.Log.Error("no guard for worktree", zap.String("worktree", string(r.Worktree)), zap.Error(err))
		return f.refused()
	}
	no, st := p.enter(g, req, nil, fuse.EXDEV) // an inode with links in too many worktrees
	if no != nil && no.Reason == gate.ReasonEstaleRetry {
		f.kernel.DropAttr(p.round.id)
	}
	return st
}

// admitOutside asks where there is no guard. Nobody may change what jvsfs keeps to itself, even if
// the mount only observes: the leases depend on it.
func (f *rawFS) admitOutside(p *permit, req gate.Request, r *layout.Rule) fuse.Status {
	if r.Kind == layout.SealedOff || r.Kind == layout.AppendOnly && !appendOp(req.Op) {
		return f.refuseRule(req.Op, req.Caller, r)
	}
	if r.Kind == layout.AppendOnly {
		r = layout.Open
	}
	pass, ok, would := f.opts.Enforcement.OutsideOf(req, r.Kind != layout.PassThrough)
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
		f.opts.Log.Debug("would refuse", zap.Stringer("op", req.Op), zap.String("name", r.Name))
	}
	p.outside.End() // one pass is enough to be waited for
	p.outside = pass
	return fuse.OK
}

// refuseRule refuses where there is no guard.
func (f *rawFS) refuseRule(op gate.Op, c process.Caller, r *layout.Rule) fuse.Status {
	f.stats.outside.Add(1)
	why, id := gate.ReasonSealed, r.Worktree
	switch r.Kind {
	case layout.BadName:
		why, id = gate.ReasonBadWorktree, lease.WorktreeID(r.Name)
	case layout.FixedName:
		why, id = gate.ReasonFixed, f.opts.Layout.Tree()
	case layout.PassThrough:
		why = gate.ReasonReadOnly
	}
	f.opts.Log.Debug("refused", zap.Stringer("op", op), zap.String("name", r.Name), zap.Uint8("reason", uint8(why)))
	if f.opts.OnRefusal != nil {
		f.opts.OnRefusal(&gate.Refusal{Reason: why, Op: op, Errno: f.opts.Errno, Worktree: id, Caller: c})
	}
	return f.refused()
}

// refused is the answer where no guard gives one.
func (f *rawFS) refused() fuse.Status { return fuse.Status(f.opts.Errno) }

// admitNode asks whether the caller may change an inode's attributes or content.
func (f *rawFS) admitNode(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, n *node) (permit, fuse.Status) {
	return f.admitNodeIf(signal, op, h, n, mayChange(op, n))
}

// admitNodeInside is admitNode with its own judge of what the kernel has not judged. The names of the
// inode may have to be searched for. That happens after the permission was judged and the known
// rules have admitted the mutation, and while nothing is held.
func (f *rawFS) admitNodeInside(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, n *node, may func() bool) (permit, fuse.Status) {
	return f.begin(&nodeChange{f: f, signal: signal, op: op, h: h, n: n, may: may, mutation: engine.Mutation{Op: op, Caller: callerID(h), Inode: n}})
}

// nodeChange is a change of an inode's attributes or content.
type nodeChange struct {
	f      *rawFS
	signal <-chan struct{}
	op     gate.Op
	h      *fuse.InHeader
	n      *node
	may    func() bool

	mutation engine.Mutation

	knows bool // all names that matter
	rules []*layout.Rule
}

func (c *nodeChange) ask() (p permit, st fuse.Status) {
	f, n := c.f, c.n
	if st := f.askFirst(&c.mutation); st != fuse.OK {
		return permit{}, st
	}
	if c.knows, st = f.linksKnown(n); st != fuse.OK {
		return permit{}, st
	}
	guarded, st := f.rulesOfInode(c.op, c.h, n)
	if st != fuse.OK {
		return permit{}, st
	}
	c.rules = f.rulesIf(c.knows, n, make([]*layout.Rule, 0, 4))
	as := permit{op: c.op, place: f.exempt.OfInode(c.op, n), may: c.may, signal: c.signal, at: n, guarded: guarded}
	as.needs = needs{unknown: !c.knows}
	return f.admitAs(as, c.h, c.rules)
}

func (c *nodeChange) learn() fuse.Status {
	if c.may != nil && !c.may() {
		return fuse.EPERM
	}
	return c.f.learnLinks(c.n, gate.Request{Caller: callerID(c.h), Signal: c.signal})
}

func (c *nodeChange) about() *engine.Mutation { return &c.mutation }
func (c *nodeChange) inode() *node            { return c.n }
func (c *nodeChange) By() engine.Judgement    { return engine.Judgement{Rules: c.rules} }

func (c *nodeChange) Again() engine.Judgement {
	return engine.Judgement{Rules: c.f.rulesIf(c.knows, c.n, nil)}
}

// admitEntry asks whether the caller may change the entry name in dir.
func (f *rawFS) admitEntry(signal <-chan struct{}, op gate.Op, h *fuse.InHeader, at target) (permit, fuse.Status) {
	if st := checkName(at.name); st != fuse.OK {
		return permit{}, st
	}
	c := &entryChange{f: f, signal: signal, op: op, h: h, at: at}
	c.names[0] = at.engineName()
	c.mutation = engine.Mutation{Op: op, Caller: callerID(h), Names: c.names[:1]}
	return f.begin(c)
}

// entryChange adds or removes a name.
type entryChange struct {
	nameChange
	f      *rawFS
	signal <-chan struct{}
	op     gate.Op
	h      *fuse.InHeader
	at     target

	by engine.Judgement
}

// ask judges by what lies in the repository now.
func (c *entryChange) ask() (permit, fuse.Status) {
	f, op, h, dir, name := c.f, c.op, c.h, c.at.dir, c.at.name
	if f.sealedIn(op, dir, name) {
		return permit{}, f.refuseRule(op, callerID(h), layout.Sealed)
	}
	if r := f.covers(op, dir, name); r != nil {
		return permit{}, f.refuseRule(op, callerID(h), r)
	}
	if st := f.askFirst(&c.mutation); st != fuse.OK {
		return permit{}, st
	}
	guarded, st := f.rulesOfName(op, h, c.at)
	if st != fuse.OK {
		return permit{}, st
	}
	c.by = c.Again()
	return f.admitAs(permit{
		needs: needs{moves: gate.Reserved(name)}, // such a name must not come into a directory that is being moved because it had none
		op:    op, place: f.exempt.OfEntry(op, dir, name), may: mayEntry(op, dir, name), signal: c.signal, round: roundBy(op, dir),
		at: dir, name: name, guarded: guarded,
	}, h, c.by.Rules)
}

func (c *entryChange) By() engine.Judgement { return c.by }

func (c *entryChange) Again() (by engine.Judgement) {
	by.Rules, by.Content = c.f.nameRules(callerID(c.h), c.op, c.at.dir, c.at.name)
	return by
}

// roundBy returns the directory in which the kernel repeats a call that was answered with ESTALE, or
// nil. bind(2) makes a node and is not repeated (unix_bind_bsd).
func roundBy(op gate.Op, dir *node) *node {
	if op == gate.OpMknod {
		return nil
	}
	return dir
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
