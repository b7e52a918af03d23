package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// judgeWriter lets the writers of the open epoch in. If nobody holds the lease it may take one for
// the writer. It decides again after each wait and each acquired lease, a few times at most.
func (g *Guard) judgeWriter(m Enforce, r Request) (Pass, *Refusal) {
	for range 8 {
		if r.Killed() {
			break
		}
		e := g.open.Load()
		f, id, who := g.gather(m, e, r.Caller)
		act, why := decide(f.making(r.Makes && g.cfg.MakeOnFree))
		if act == refuse || act == acquire {
			if p, ok := g.exempted(m, r); ok {
				return p, nil
			}
		}
		switch act {
		case refuse:
			if why == reasonClosing && g.waitForClose(r) {
				continue
			}
			if why == reasonHeldElsewhere && g.waitForRelease(r) {
				continue
			}
			if g.writerResumes(r, id, why) {
				continue
			}
			return Pass{}, g.refusal(r.Op, why, e).about(who)
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
			case reasonNone:
				return Pass{e: e}, nil
			case reasonHandover:
				if p, ok := g.exempted(m, r); ok {
					return p, nil
				}
				return Pass{}, g.refusal(r.Op, reasonHandover, e)
			}
		case acquire:
			if g.outOfTurn(r) {
				return Pass{}, g.refusal(r.Op, reasonQueued, e)
			}
			if r.May != nil && !r.May() {
				return Pass{}, g.noRight(r)
			}
			if no := g.acquireFor(r, id, e); no != nil {
				if no.Reason == reasonHeldElsewhere && g.waitForRelease(r) {
					continue
				}
				return Pass{}, no
			}
		}
	}
	return Pass{}, g.refusal(r.Op, reasonClosing, nil)
}

// concerned are those whom a refusal may be about: what was read of the record while no epoch is open, and the loss for which the writer
// stays out.
type concerned struct {
	head lease.Head
	lost *revocation
}

// gather collects the facts that decide needs.
func (g *Guard) gather(m Enforce, e *epoch, c process.Caller) (f facts, id process.Identity, who concerned) {
	f = facts{enforce: m, mode: g.cfg.Mode, onFree: g.cfg.OnFree}
	if f.enforce == ReadOnly || f.mode == Shared {
		return f, process.Identity{}, who
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
	var j lease.Judgement
	if e != nil {
		g.learnHistory(keyOfEpoch(e))
	} else {
		who.head, j = g.keeper.Observe() // once: while leases pass from one holder to the next, each look lists the directory
		g.learnHistory(keyOf(who.head, j))
	}
	g.mu.Lock()
	f.closing = g.closing != nil
	f.failed = g.loss.Kind == lease.LossRenewFailed && who.head.Token <= g.loss.Token // otherwise another has it now
	who.lost = g.revoked.find(g.cfg.Resolver, id)
	f.revoked = who.lost.reason()
	g.mu.Unlock()
	if e == nil && !f.closing && !f.failed && f.revoked == reasonNone {
		f.head = g.headState(who.head, j)
	}
	if g.autoScope() == ScopeUser || g.autoScope() == ScopeMount {
		f.known = true
	}
	return f, id, who
}
