package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// The holder of a lease may have been paused beyond its deadline (suspend, a debugger, a stopped
// daemon). Where nobody has taken the lease its keeper goes on with it, under the next token (rule
// 16 of package lease). Then nobody was in between: what was opened in the epochs before is of the
// same holder, and goes on. Until the keeper has decided, nothing enters. Mutations of that holder
// wait for it and are not refused for being a millisecond early.

// goOnWait bounds that wait: the keeper may be stopped, or its disk slow.
const goOnWait = 2 * time.Second

// covers reports whether handles of an epoch may write in this one: it is this one, or an earlier
// one of the same holder without anybody in between.
func (e *epoch) covers(id Epoch) bool {
	return e.id == id || id.kind == kindLease && e.id.kind == kindLease && e.since <= id.number && id.number < e.id.number
}

// ofGrant sets what a grant says of a holder that goes on.
func (e *epoch) ofGrant(gr lease.Grant) {
	e.resumes, e.since = gr.Resumes, e.id.number
	if gr.Since != 0 {
		e.since = min(uint64(gr.Since), e.id.number)
	}
}

// follow leaves out what does not go on: what was opened before stores through mappings were dropped.
func (e *epoch) follow(last *epoch) {
	switch {
	case last == nil || !e.covers(last.id):
	case last.unsaved:
		e.since = e.id.number
	default:
		e.since = max(e.since, last.since)
	}
}

// pause ends the open epoch of a holder that is about to go on. It returns when nothing is in
// flight. The kernel's caches stay, because nobody else has written. Open or Close follows.
func (g *Guard) pause(l lease.Loss) {
	g.mu.Lock()
	g.loss, g.closing = l, make(chan struct{})
	e := g.open.Swap(nil)
	g.pausing = e
	g.mu.Unlock()
	if e != nil {
		e.end()
	}
}

// paused takes the epoch that pause has ended, and what is to be closed when its fate is known. Both
// are nil if there is none. Under mu.
func (g *Guard) paused() (e *epoch, over chan struct{}) {
	if e, over = g.pausing, g.closing; e == nil {
		return nil, nil
	}
	g.pausing = nil
	return e, over
}

// save lets the kernel write back what a stopped holder has stored through mappings, while its lease
// lasts. If that does not end in time, the holder may go on, but not what it has open: the kernel
// drops those stores.
func (g *Guard) save() {
	e := g.open.Load()
	if e == nil {
		return
	}
	now := g.cfg.Clock.Boot()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(e.deadline.Load())-now)
	defer cancel()
	e.unsaved = e.over(now) || g.yield(ctx) != nil || e.over(g.cfg.Clock.Boot())
}

// begin is the part of Open before the writers get in.
func (g *Guard) begin(gr lease.Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loss = lease.Loss{}
	g.revoked.forgive(gr)
}

// succeed is the part of Open after that: what pause has ended is over.
func (g *Guard) succeed(e *epoch) {
	g.mu.Lock()
	old, over := g.paused()
	if old != nil {
		g.closing = nil
	}
	g.mu.Unlock()
	if old == nil {
		return
	}
	if !e.covers(old.id) { // the keeper closes before it opens for another; this is for a keeper with a bug
		g.runClose(lease.Loss{Kind: lease.LossExpired})
	}
	g.passed(old)
	close(over)
}

// forgive removes a holder that goes on: it has not lost the lease after all.
func (r *revocations) forgive(gr lease.Grant) {
	if gr.Since == 0 || gr.Since == gr.Token {
		return
	}
	defer r.dismiss(r.formers())
	back := func(v revocation) bool { return sameHolder(v.holder, gr.Holder) && gr.Covers(v.token) }
	r.own, r.list = slices.DeleteFunc(r.own, back), slices.DeleteFunc(r.list, back)
	r.seen = nil
}

// mayGoOn reports whether the deadline of the latest lease has come, and its holder may go on: its
// keeper has not decided yet.
func (g *Guard) mayGoOn(e *epoch) bool {
	switch {
	case e == nil || !e.resumes || e.inVain.Load():
		return false
	case g.opening.Load() && g.open.Load() == nil: // it goes on at this moment, or another holder comes
		return true
	case g.last.Load() != e:
		return false
	case g.open.Load() == e:
		return e.over(g.cfg.Clock.Boot()) && e.stopped.Load() == nil
	}
	g.mu.Lock()
	kind, last := g.loss.Kind, EpochOf(g.loss.Token) == e.id
	g.mu.Unlock()
	switch {
	case !last:
		return false
	case kind == lease.LossPaused:
		return g.cfg.Resolver.Liveness(e.holder()) == lease.Alive
	}
	return kind == lease.LossResumed
}

// goesOn reports whether the holder of an epoch is about to go on after a pause.
func (g *Guard) goesOn(id Epoch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pausing != nil && g.pausing.covers(id)
}

// waitToGoOn waits until the keeper has decided whether the holder of e goes on. It reports whether
// to decide again. After a wait in vain nobody waits for this epoch again.
func (g *Guard) waitToGoOn(r Request, e *epoch) bool {
	if r.probe || !g.mayGoOn(e) {
		return false
	}
	g.keeper.Look()
	out := g.cfg.Enforcement.Poll(r.waiter(), goOnWait, func() bool {
		if !g.mayGoOn(e) {
			return true
		}
		g.keeper.Look()
		return false
	})
	if out == wait.Elapsed {
		e.inVain.Store(true)
	}
	return out == wait.Done
}

// writerGoesOn is waitToGoOn for a writer that was refused.
func (g *Guard) writerGoesOn(r Request, id process.Identity, why Reason) bool {
	e := g.last.Load()
	if why != reasonExpired && why != reasonRevokedExpired && why != reasonClosing || !g.mayGoOn(e) {
		return false
	}
	return g.members.member(g.cfg.Resolver, e, id) && g.waitToGoOn(r, e)
}

// handleGoesOn is waitToGoOn for a handle that was refused under the epoch was, which may be nil.
func (g *Guard) handleGoesOn(r Request, was *epoch) bool {
	if e := g.open.Load(); e != nil && e != was && e.covers(r.Epoch) {
		return true // it went on meanwhile
	}
	e := g.last.Load()
	return e != nil && e.covers(r.Epoch) && g.waitToGoOn(r, e)
}

// WentOn is the sentence about a holder that went on after a pause, "" if none does.
func (g *Guard) WentOn() string {
	if e := g.open.Load(); e != nil {
		return e.wentOn()
	}
	return ""
}

// wentOn is the sentence about a holder that went on after a pause, "" about another.
func (e *epoch) wentOn() string {
	if e.since == e.id.number {
		return ""
	}
	return fmt.Sprintf("the same holder went on after a pause (its tokens are %d to %d): nobody had taken the lease", e.since, e.id.number)
}
