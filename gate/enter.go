package gate

import (
	"context"
	"errors"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Caller is what the kernel says of the process behind a request: its thread id
// in the daemon's pid namespace (0 = not visible there) and its file system ids.
type Caller struct {
	TID      uint32
	UID, GID uint32
}

// Request is one mutation that wants to go ahead. With an Epoch it is judged by
// the handle it comes through; with NoEpoch by its writer.
//
// With At, what the lease does not admit may be admitted for its place.
//
// May is asked before a lease is taken for the mutation, and only then: whether its
// caller could make it if there were no fence. Who may not write may not keep others
// from it. nil says that the kernel has judged that already.
type Request struct {
	Op     Op
	Epoch  Epoch
	Caller Caller
	At     Place // nil: nothing is exempt
	May    func() bool
	// Through is the freeze that the mutation is made under; see [Freeze].
	Through *Freeze
	// Signal is closed when the caller has got a signal. One that is being killed does not
	// wait any longer. nil: it is not told.
	Signal <-chan struct{}
	// Round says that the kernel makes the call again when it is answered with ESTALE.
	Round bool

	wait  *wait // of a caller that waits in line
	probe bool  // nothing is mutated: the lease is taken for what comes next
}

// Pass is the permission for one mutation. Leave must be called when the backing
// call has returned.
type Pass struct {
	e      *epoch
	exempt *Exemption // nil where the lease admitted it
}

// Leave ends the mutation.
func (p Pass) Leave() {
	if p.e != nil {
		p.e.leave()
	}
}

// undo takes a permission back that nobody has seen yet.
func (p Pass) undo(r Request) {
	p.Leave()
	if p.exempt != nil {
		r.At.Release()
	}
}

// Late tells why the mutation, which has just taken effect, may have come after its
// epoch was over, or nil. Only stores that other kernels write as well have to be
// asked (rule 10 of package lease); elsewhere it costs nothing. Ask before Leave;
// what is late must not be acknowledged, and ReportLate must follow.
func (g *Guard) Late(p Pass) error {
	if p.e == nil {
		return nil
	}
	return p.e.late(g.cfg.Clock)
}

// ReportLate counts a late mutation and leaves its taint and its audit event.
func (g *Guard) ReportLate(p Pass, why error, w lease.LateWrite) {
	w.Token = p.e.id.Token()
	no := g.refusal(OpWrite, ReasonLate, p.e)
	no.Err = errors.Join(why, g.keeper.Late(w))
	g.refusals.Add(1)
	g.note(no)
}

// ByPlace reports whether the place alone admitted the mutation, and no lease.
func (p Pass) ByPlace() bool { return p.exempt != nil }

// Epoch returns the epoch that a handle opened under this pass belongs to.
func (p Pass) Epoch() Epoch {
	if p.e == nil {
		return observedEpoch
	}
	return p.e.id
}

// acquireWait bounds how long a writer waits for a lease that AcquireOnFree takes
// for it. The store answers in milliseconds; a stuck one must not hang editors.
const acquireWait = 5 * time.Second

// Enter decides whether a mutation may go ahead and counts it in flight. It is
// the one decision point of the file system. Either the refusal is nil and Leave
// must follow, or nothing was counted. Under an open epoch it costs a count, four
// loads and a clock read for a handle, and a look into the caches of the resolver
// for a writer. While a lease is being handed over it waits for the outcome, but not for
// long.
func (g *Guard) Enter(r Request) (Pass, *Refusal) {
	for {
		under := g.cfg.Enforcement.now.Load()
		p, no := g.judge(under.mode, r)
		switch {
		case no == nil && g.cfg.Enforcement.now.Load() == under: // counted first, looked at afterwards
			if f := g.frozen.Load().bars(r.Through); f != nil {
				p.undo(r)
				if no = g.thawed(f, r); no != nil {
					return Pass{}, no
				}
				continue
			}
			if !r.probe {
				g.count(p)
			}
			return p, nil
		case no == nil: // the mode was switched meanwhile: decide anew
			p.undo(r)
		default:
			if no.Reason == ReasonNoRight { // the lease has nothing to do with it
				return Pass{}, no
			}
			if r.Killed() { // nobody is there to be told
				return Pass{}, g.killed(r)
			}
			no.Caller = r.Caller
			switch waits := g.willing(under.mode, r, no); {
			case waits && r.wait == nil:
				return g.enterInLine(r)
			case waits || r.probe: // it goes on in line, or comes to the gate itself
				return Pass{}, no
			}
			if p, no, done := g.carryOut(under, no, r); done {
				return p, no
			}
		}
	}
}

func (g *Guard) judge(m Enforce, r Request) (Pass, *Refusal) {
	if r.Epoch != NoEpoch {
		return g.judgeHandle(m, r)
	}
	return g.judgeWriter(m, r)
}

// judgeHandle lets a handle write in the epoch that it was opened in, and where
// anybody may write.
func (g *Guard) judgeHandle(m Enforce, r Request) (Pass, *Refusal) {
	if m == ReadOnly {
		return Pass{}, g.refusal(r.Op, ReasonReadOnly, nil)
	}
	if r.Epoch != ByPlace {
		p, no := g.judgeEpoch(r)
		if no == nil || r.At == nil {
			return p, no
		}
		if p, ok := g.exempted(m, r); ok {
			return p, nil
		}
		return Pass{}, no
	}
	if p, ok := g.exempted(m, r); ok {
		return p, nil
	}
	return Pass{}, g.refusal(r.Op, ReasonNotExempt, nil)
}

func (g *Guard) judgeEpoch(r Request) (Pass, *Refusal) {
	switch {
	case r.Epoch == observedEpoch:
		return Pass{}, g.refusal(r.Op, ReasonObservedHandle, nil)
	case r.Epoch == sharedEpoch:
		return g.enter(r, g.shared, ReasonStaleHandle)
	case r.Epoch.kind == kindLease:
		return g.enterIf(r, g.open.Load())
	case r.Epoch.kind != kindFree:
		return Pass{}, g.refusal(r.Op, ReasonStaleHandle, nil)
	}
	if _, j := g.keeper.Observe(); j.State != lease.Free {
		return Pass{}, g.refusal(r.Op, ReasonStaleHandle, nil)
	}
	return g.enterIf(r, g.free.Load())
}

func (g *Guard) enterIf(r Request, e *epoch) (Pass, *Refusal) {
	if e != nil && e.id == r.Epoch {
		p, no := g.enter(r, e, ReasonExpired)
		if no == nil || !e.isOver() {
			return p, no
		}
		e = nil // it was closed meanwhile
	}
	if e == nil && g.renewFailed(r.Epoch) {
		return Pass{}, g.refusal(r.Op, ReasonRenewFailed, nil)
	}
	return Pass{}, g.refusal(r.Op, ReasonStaleHandle, nil)
}

func (g *Guard) enter(r Request, e *epoch, why Reason) (Pass, *Refusal) {
	switch g.into(e, r) {
	case ReasonNone:
		return Pass{e: e}, nil
	case ReasonHeldUp:
		why = ReasonHeldUp
	}
	return Pass{}, g.refusal(r.Op, why, e)
}

// Current reports whether handles of the epoch may write, or may again if a failed
// renewal is made up for in time.
func (g *Guard) Current(id Epoch) bool {
	if id.kind != kindLease {
		e := g.free.Load()
		return id == sharedEpoch || e != nil && e.id == id && !e.isOver() ||
			id == observedEpoch && g.cfg.Enforcement.Mode() == Observing
	}
	e := g.open.Load()
	return e != nil && e.id == id || e == nil && g.renewFailed(id)
}

// renewFailed reports whether the epoch was closed by a failed renewal and may
// still come back.
func (g *Guard) renewFailed(id Epoch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loss.Kind == lease.LossRenewFailed && EpochOf(g.loss.Token) == id
}

// judgeWriter lets the writers of the open epoch in, and takes a lease for a
// writer where the rule says so. Two rounds: one to acquire, one to enter; and one for
// each holder that ends meanwhile.
func (g *Guard) judgeWriter(m Enforce, r Request) (Pass, *Refusal) {
	for range 8 {
		if r.Killed() {
			break
		}
		e := g.open.Load()
		f, id := g.gather(m, e, r.Caller)
		act, why := decide(f)
		if act == refuse || act == acquire {
			if p, ok := g.exempted(m, r); ok {
				return p, nil
			}
		}
		switch act {
		case refuse:
			if why == ReasonClosing && g.waitForClose(r) {
				continue
			}
			if why == ReasonHeldElsewhere && g.waitForRelease(r) {
				continue
			}
			return Pass{}, g.refusal(r.Op, why, e)
		case passFree:
			if f.gone {
				g.waitForEnd(e, r)
				continue
			}
			if p, ok := g.enterFree(f.mode); ok {
				return p, nil
			}
		case pass:
			switch g.into(e, r) {
			case ReasonNone:
				return Pass{e: e}, nil
			case ReasonHeldUp:
				if p, ok := g.exempted(m, r); ok {
					return p, nil
				}
				return Pass{}, g.refusal(r.Op, ReasonHeldUp, e)
			}
		case acquire:
			if g.outOfTurn(r) {
				return Pass{}, g.refusal(r.Op, ReasonQueued, e)
			}
			if r.May != nil && !r.May() {
				return Pass{}, g.noRight(r)
			}
			if no := g.acquireFor(r, id, e); no != nil {
				if no.Reason == ReasonHeldElsewhere && g.waitForRelease(r) {
					continue
				}
				return Pass{}, no
			}
		}
	}
	return Pass{}, g.refusal(r.Op, ReasonClosing, nil)
}

// closeWait bounds how long a writer waits for an epoch that is given back to be
// over. It must be bounded: the close may wait for the very request.
const closeWait = 250 * time.Millisecond

// waitForClose waits where a lease ends in peace (released, idle, holder ended, handed
// over), so that the next writer does not see a refusal for being a
// millisecond early. It reports whether it is worth deciding again.
func (g *Guard) waitForClose(r Request) bool {
	g.mu.Lock()
	over, kind := g.closing, g.loss.Kind
	g.mu.Unlock()
	if over == nil {
		return true
	}
	if !givenBack(kind) && kind != lease.LossHandedOver {
		return false
	}
	off := make(chan struct{})
	end, ok := g.cfg.Enforcement.waits(r, func() { close(off) })
	if !ok {
		return false
	}
	defer end()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-off:
		return false
	case <-t.C:
		return false
	}
}

// gather collects what decide needs.
func (g *Guard) gather(m Enforce, e *epoch, c Caller) (facts, Identity) {
	f := facts{enforce: m, mode: g.cfg.Mode, onFree: g.cfg.OnFree}
	if f.enforce == ReadOnly || f.mode == Shared {
		return f, Identity{}
	}
	id, err := g.cfg.Resolver.Identify(c)
	f.known = err == nil
	if e != nil {
		f.over = e.over(g.cfg.Clock.Boot())
		f.open = !f.over
		f.auto = e.holder().Auto
		f.known = f.known || Scope(e.holder().Scope) == ScopeUser || Scope(e.holder().Scope) == ScopeMount
		f.member = g.members.member(g.cfg.Resolver, e, id)
		f.gone = !f.member && g.hasEnded(e)
	}
	var head lease.Head
	var j lease.Judgement
	if e != nil {
		g.learnPast(keyOfEpoch(e))
	} else {
		head, j = g.keeper.Observe() // once: while leases pass from one to the next each look is a listing
		g.learnPast(keyOf(head, j))
	}
	g.mu.Lock()
	f.closing = g.closing != nil
	f.failed = g.loss.Kind == lease.LossRenewFailed
	f.revoked = g.revoked.find(g.cfg.Resolver, id)
	g.mu.Unlock()
	if e == nil && !f.closing && !f.failed && f.revoked == ReasonNone {
		f.head = g.headState(head, j)
	}
	if g.autoScope() == ScopeUser || g.autoScope() == ScopeMount {
		f.known = true
	}
	return f, id
}

// enterFree passes without a lease.
func (g *Guard) enterFree(m Mode) (Pass, bool) {
	if m == Shared {
		return Pass{e: g.shared}, g.shared.enter(g.cfg.Clock)
	}
	e := g.freeEpoch()
	if !e.enter(g.cfg.Clock) {
		return Pass{}, false
	}
	// Counted first, looked at afterwards: what was decided upon may be long over, and
	// Open raises its flag before it drains.
	if !g.freeStill() || g.opening.Load() || g.open.Load() != nil {
		e.leave()
		return Pass{}, false
	}
	return Pass{e: e}, true
}

// freeEpoch returns the epoch of writes without a lease. A new one is known to who waits
// for all (epochs) before anything can enter it, and begins when the one before has
// drained: Open leaves that in its place until then.
func (g *Guard) freeEpoch() *epoch {
	if e := g.free.Load(); e != nil {
		return e
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.free.Load(); e != nil {
		return e
	}
	g.freeSeq++
	e := newEpoch(freeEpochOf(g.freeSeq), lease.Holder{}, never, 0)
	g.lastFree.Store(e)
	g.free.Store(e)
	return e
}

// freeStill reports whether nobody holds the lease, here or elsewhere.
func (g *Guard) freeStill() bool {
	g.mu.Lock()
	closing := g.closing != nil || g.loss.Kind == lease.LossRenewFailed
	g.mu.Unlock()
	_, j := g.keeper.Observe()
	return !closing && j.State == lease.Free
}

func (g *Guard) autoScope() Scope {
	if g.cfg.Scope == ScopeDefault {
		return ScopeSession
	}
	return g.cfg.Scope
}

// acquireFor takes the lease for the writer's session (or what the rule's scope
// says). The wait ends when the guard starts to close: a request must not wait
// for a close that waits for requests.
//
// after is the epoch of a holder that has ended, or nil. Its close has to come first, and is
// waited for: nothing of such a holder is in flight that could wait for the request in turn.
func (g *Guard) acquireFor(r Request, id Identity, after *epoch) *Refusal {
	h, err := g.cfg.Resolver.autoHolder(id, g.autoScope())
	if err != nil {
		return g.refusal(r.Op, ReasonNobody, nil)
	}
	if g.waitForEnd(after, r); r.Killed() { // a lease for nobody would keep others waiting
		return g.refusal(r.Op, ReasonClosing, nil)
	}
	g.mu.Lock()
	turn := g.turn
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(turn, acquireWait)
	defer cancel()
	end, ok := g.cfg.Enforcement.waits(r, cancel)
	if !ok {
		return g.refusal(r.Op, ReasonClosing, nil)
	}
	defer end()
	if _, err = g.keeper.Acquire(ctx, h); err == nil {
		return nil
	}
	no := g.refusal(r.Op, reasonOf(err), nil)
	if no.Reason == ReasonStore {
		no.Err = err
	}
	var le *lease.Error
	if errors.As(err, &le) && le.Holder != nil {
		no.Holder = le.Holder.Holder()
	}
	return no
}

func reasonOf(err error) Reason {
	switch lease.ClassOf(err) {
	case lease.ClassLockConflict, lease.ClassLockExpired:
		return ReasonHeldElsewhere
	case lease.ClassClockSkewExceeded:
		return ReasonSkewed
	case lease.ClassRecordUnreadable:
		return ReasonUnreadable
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ReasonClosing
	}
	return ReasonStore
}
