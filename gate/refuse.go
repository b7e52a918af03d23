package gate

import (
	"syscall"

	"github.com/jvsfs/jvsfs/lease"
)

// What becomes of a no. It gets its words, it is counted and told, and it is carried out unless the
// mount only observes.

// carryOut refuses, or lets through if the mount only observes. If done is false the mode was
// switched meanwhile.
func (a attempt) carryOut(under *modeEpoch, no *Refusal) (p Pass, refused *Refusal, done bool) {
	if under.mode != Observing {
		a.refusals.Add(1)
		a.note(no)
		return Pass{}, no, true
	}
	if !under.observed.enter(a.cfg.Clock) {
		return Pass{}, nil, false
	}
	if f := a.frozen.Load().bars(a.Request); f != nil {
		under.observed.leave()
		if late := a.thawed(f); late != nil {
			return Pass{}, late, true
		}
		return Pass{}, nil, false
	}
	no.Observed = true
	a.wouldRefuse.Add(1)
	a.note(no)
	return Pass{e: under.observed}, nil, true
}

// refusal makes the no. e is the epoch that stands in the way, or nil.
func (g *Guard) refusal(op Op, why Reason, e *epoch) *Refusal {
	r := &Refusal{Reason: why, Op: op, Errno: g.cfg.Errno, Worktree: g.cfg.Worktree, Lock: g.lockNow()}
	if e != nil {
		r.Holder, r.Token = e.holder(), e.id.Token()
		if e.id.Token() != 0 {
			r.Left = e.left(g.cfg.Clock.Boot())
		}
		return r
	}
	g.mu.Lock()
	r.Holder, r.Token = g.loss.Holder, g.loss.Token
	g.mu.Unlock()
	return r
}

// about names the holder that the record shows, where the no is about that one: this mount remembers the last one that it
// saw itself, and another mount or host may have taken over since. A no to one who stays out names whose lease was lost.
func (r *Refusal) about(who concerned) *Refusal {
	head := who.head
	switch r.Reason {
	case reasonRevokedExpired, reasonRevokedStolen:
		if who.lost != nil {
			r.Holder, r.Token, r.Left = who.lost.holder, who.lost.token, 0
		}
	case reasonHeldElsewhere, reasonUnreadable, reasonSkewed:
		r.Holder, r.Token = lease.Holder{}, head.Token
		if head.Record != nil {
			r.Holder = head.Record.Holder()
		}
	}
	if r.Reason == reasonUnreadable && lease.CutOffStore(head.Unreadable) { // no record is at fault
		r.err = head.Unreadable
	}
	return r
}

// killed is the no for a caller that was killed while it waited. It is neither counted nor told.
func (a attempt) killed() *Refusal {
	return &Refusal{Reason: reasonKilled, Op: a.Op, Errno: syscall.EINTR, Worktree: a.cfg.Worktree, Caller: a.Caller}
}

func (g *Guard) note(no *Refusal) {
	g.remember(g.cfg.Clock.Wall(), no)
	if g.cfg.OnRefusal != nil {
		g.cfg.OnRefusal(no)
	}
}

// RefuseStore counts a store through a mapping which the file system has found not to be a rightful handle's. If the
// mount only observes, the pass lets the store through, and End must follow.
func (g *Guard) RefuseStore(why Reason) (Pass, *Refusal) {
	for {
		no := g.refusal(OpWrite, why, g.open.Load())
		under := g.cfg.Enforcement.now.Load()
		a := attempt{g, Request{Op: OpWrite, Stored: true}, under.mode}
		if p, no, done := a.carryOut(under, no); done {
			return p, no
		}
	}
}
