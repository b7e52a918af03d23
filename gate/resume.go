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
// daemon). Where nobody has taken the lease its keeper resumes it, under the next token (rule
// 16 of package lease). Then nobody was in between: what was opened in the epochs before is of the
// same holder, and resumes. Until the keeper has decided, nothing enters. Mutations of that holder
// wait for it and are not refused for being a millisecond early.

// resumeWait bounds that wait: the keeper may be stopped, or its disk slow.
const resumeWait = 2 * time.Second

// covers reports whether handles of an epoch may write in this one: it is this one, or an earlier
// one of the same holder without anybody in between.
func (e *epoch) covers(id Epoch) bool {
	return e.id == id || id.kind == kindLease && e.id.kind == kindLease && e.since <= id.number && id.number < e.id.number
}

// ofGrant sets what a grant says of a holder that resumes.
func (e *epoch) ofGrant(gr lease.Grant) {
	e.resumes, e.since = gr.Resumes, e.id.number
	if gr.Since != 0 {
		e.since = min(uint64(gr.Since), e.id.number)
	}
}

// follow leaves out what does not resume: what was opened before stores through mappings were dropped.
func (e *epoch) follow(last *epoch) {
	switch {
	case last == nil || !e.covers(last.id):
	case last.unsaved:
		e.since = e.id.number
	default:
		e.since = max(e.since, last.since)
	}
}

// pause ends the open epoch of a holder that is about to resume. It returns when nothing is in
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
func (f *fence) paused() (e *epoch, over chan struct{}) {
	if e, over = f.pausing, f.closing; e == nil {
		return nil, nil
	}
	f.pausing = nil
	return e, over
}

// save lets the kernel write back what a stopped holder has stored through mappings, while its lease
// lasts. If that does not end in time, the holder may resume, but not what it has open: the kernel
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
	old.passed()
	close(over)
}

// forgive removes a holder that resumes: it has not lost the lease after all.
func (r *revocations) forgive(gr lease.Grant) {
	if gr.Since == 0 || gr.Since == gr.Token {
		return
	}
	defer r.dismiss(r.formers())
	back := func(v revocation) bool { return sameHolder(v.holder, gr.Holder) && gr.Covers(v.token) }
	r.own, r.list = slices.DeleteFunc(r.own, back), slices.DeleteFunc(r.list, back)
	r.seen = nil
}

// mayResume reports whether the deadline of the latest lease has come, and its holder may resume: its
// keeper has not decided yet.
func (g *Guard) mayResume(e *epoch) bool {
	switch {
	case e == nil || !e.resumes || e.inVain.Load():
		return false
	case g.opening.Load() && g.open.Load() == nil: // it resumes at this moment, or another holder comes
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

// isResuming reports whether the holder of an epoch is about to resume after a pause.
func (f *fence) isResuming(id Epoch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pausing != nil && f.pausing.covers(id)
}

// waitForResume waits until the keeper has decided whether the holder of e resumes. It reports whether
// to decide again. After a wait in vain nobody waits for this epoch again.
func (a attempt) waitForResume(e *epoch) bool {
	if a.probe || !a.mayResume(e) {
		return false
	}
	a.keeper.Look()
	out := a.cfg.Enforcement.limit.Poll(a.waiter(), resumeWait, func() bool {
		if !a.mayResume(e) {
			return true
		}
		a.keeper.Look()
		return false
	})
	if out == wait.Elapsed {
		e.inVain.Store(true)
	}
	return out == wait.Done
}

// writerResumes is waitForResume for a writer that was refused.
func (a attempt) writerResumes(id process.Identity, why Reason) bool {
	e := a.last.Load()
	if why != reasonExpired && why != reasonRevokedExpired && why != reasonClosing || !a.mayResume(e) {
		return false
	}
	return a.members.member(a.cfg.Resolver, e, id) && a.waitForResume(e)
}

// handleResumes is waitForResume for a handle that was refused under the epoch was, which may be nil.
func (a attempt) handleResumes(was *epoch) bool {
	if e := a.open.Load(); e != nil && e != was && e.covers(a.Epoch) {
		return true // it resumed meanwhile
	}
	e := a.last.Load()
	return e != nil && e.covers(a.Epoch) && a.waitForResume(e)
}

// Resumed is the sentence about a holder that resumed after a pause, "" if none does.
func (f *fence) Resumed() string {
	if e := f.open.Load(); e != nil {
		return e.resumed()
	}
	return ""
}

// resumed is the sentence about a holder that resumed after a pause, "" about another.
func (e *epoch) resumed() string {
	if e.since == e.id.number {
		return ""
	}
	return fmt.Sprintf("the same holder went on after a pause (its tokens are %d to %d): nobody had taken the lease", e.since, e.id.number)
}
