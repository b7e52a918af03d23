package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// judgeWriter lets the writers of the open epoch in. If nobody holds the lease it may take one for
// the writer. It decides again after each wait and each acquired lease, a few times at most.
func (a attempt) judgeWriter() (Pass, *Refusal) {
	for range 8 {
		if a.Killed() {
			break
		}
		e := a.open.Load()
		f, id, who := a.gather(e)
		act, why := decide(f)
		if act == refuse || act == acquire {
			if p, ok := a.exempted(); ok {
				return p, nil
			}
		}
		switch act {
		case refuse:
			if why == reasonClosing && a.waitForClose() {
				continue
			}
			if why == reasonHeldElsewhere && a.waitForRelease() {
				continue
			}
			if a.writerResumes(id, why) {
				continue
			}
			return Pass{}, a.refusal(a.Op, why, e).about(who)
		case passFree:
			if f.gone {
				a.waitForEnd(e)
				continue
			}
			if p, ok := a.enterFree(); ok {
				return p, nil
			}
		case pass:
			switch a.into(e) {
			case reasonNone:
				return Pass{e: e}, nil
			case reasonHandover:
				if p, ok := a.exempted(); ok {
					return p, nil
				}
				return Pass{}, a.refusal(a.Op, reasonHandover, e)
			}
		case acquire:
			if a.outOfTurn() {
				return Pass{}, a.refusal(a.Op, reasonQueued, e)
			}
			if a.May != nil && !a.May() {
				return Pass{}, a.noRight()
			}
			if no := a.acquire(id, e); no != nil {
				if no.Reason == reasonHeldElsewhere && a.waitForRelease() {
					continue
				}
				return Pass{}, no
			}
		}
	}
	return Pass{}, a.refusal(a.Op, reasonClosing, nil)
}

// concerned are those whom a refusal may be about: what was read of the record while no epoch is open, and the loss for which the writer
// stays out.
type concerned struct {
	head lease.Head
	lost *revocation
}

// gather collects the facts that decide needs.
func (a attempt) gather(e *epoch) (f facts, id process.Identity, who concerned) {
	f = facts{enforce: a.mode, mode: a.cfg.Mode, onFree: a.cfg.OnFree}
	if a.Makes && a.cfg.MakeOnFree {
		f.onFree = AllowOnFree
	}
	if f.enforce == ReadOnly || f.mode == Shared {
		return f, process.Identity{}, who
	}
	id, err := a.cfg.Resolver.Identify(a.Caller)
	f.known = err == nil
	if e != nil {
		f.over = e.over(a.cfg.Clock.Boot())
		f.open = !f.over
		f.auto = e.holder().Auto
		f.known = f.known || Scope(e.holder().Scope) == ScopeUser || Scope(e.holder().Scope) == ScopeMount
		f.member = a.members.member(a.cfg.Resolver, e, id)
		f.gone = !f.member && a.hasEnded(e)
	}
	var j lease.Judgement
	if e != nil {
		a.learnHistory(keyOfEpoch(e))
	} else {
		who.head, j = a.keeper.Observe() // once: while leases pass from one holder to the next, each look lists the directory
		a.learnHistory(keyOf(who.head, j))
	}
	a.mu.Lock()
	f.closing = a.closing != nil
	f.failed = a.loss.Kind == lease.LossRenewFailed && who.head.Token <= a.loss.Token // otherwise another has it now
	who.lost = a.revoked.find(a.cfg.Resolver, id)
	f.revoked = who.lost.reason()
	a.mu.Unlock()
	if e == nil && !f.closing && !f.failed && f.revoked == reasonNone {
		f.head = a.headState(who.head, j)
	}
	if a.cfg.autoScope() == ScopeUser || a.cfg.autoScope() == ScopeMount {
		f.known = true
	}
	return f, id, who
}
