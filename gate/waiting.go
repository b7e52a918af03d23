package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// MaxWaiting is how many mutations of a mount may wait at a time: for the outcome of a handover,
// for a lease that is taken for them, or for one that is given back. Each may have locks that every
// worktree needs. Further ones are refused.
const MaxWaiting = wait.Max

const (
	// closeWait bounds how long a writer waits for the end of an epoch that is given back. It must be
	// bounded: the close may wait for this very request.
	closeWait = 250 * time.Millisecond
	// releaseWait bounds how long it waits for the keeper of a holder that has ended (this daemon, another
	// one, or a command) to give the lease back, which it does at once: the keeper may be stopped.
	releaseWait = 2 * time.Second
)

// Away counts a wait of the file system itself, while it carries out a mutation, for something that
// is not the disk. Until end nobody else waits for it. off is called when the caller of r is being
// killed: at most once, and not after end. If too many wait already, the mutation keeps its reader,
// and so the number of waiting mutations is bounded.
func (s *Enforcement) Away(r Request, off func()) (end func()) {
	if end, ok := s.limit.Begin(r.waiter(), off); ok {
		return end
	}
	return func() {}
}

// Wait is Away for who waits on channels: off is closed when the caller is being killed. nil has nobody to tell.
func (s *Enforcement) Wait(r Request) (off <-chan struct{}, end func()) {
	called := make(chan struct{})
	if s == nil {
		return called, func() {}
	}
	return called, s.Away(r, func() { close(called) })
}

func (r Request) waiter() wait.Caller { return wait.Caller{TID: r.Caller.TID, Signal: r.Signal} }

// Killed reports whether the caller is being killed, so that it only waits for its call to end.
// Another signal must not break off a call on a file: other file systems do not let it, either.
func (r Request) Killed() bool { return wait.Happened(r.Signal) && process.Dying(r.Caller.TID) }

// waitForClose waits for a lease that ends in peace (released, idle, holder ended, handed over).
// Otherwise the next writer would be refused for being a millisecond early. It reports whether to
// decide again.
func (a attempt) waitForClose() bool {
	a.mu.Lock()
	over, kind := a.closing, a.loss.Kind
	a.mu.Unlock()
	if over == nil {
		return true
	}
	if !givenBack(kind) && kind != lease.LossHandedOver && kind != lease.LossResumed {
		return false
	}
	return a.cfg.Enforcement.limit.Until(a.waiter(), closeWait, nil, wait.On(over)) == wait.Done
}

// waitForEnd makes the keeper look at a holder that has ended. It waits until its epoch is over,
// for a bounded time. nil is no epoch.
func (a attempt) waitForEnd(e *epoch) {
	if e == nil {
		return
	}
	a.keeper.Look()
	if a.cfg.Enforcement.limit.Until(a.waiter(), releaseWait, nil, wait.On(e.gone)) == wait.Elapsed {
		a.waitedInVain(e.id.Token())
	}
}

// waitForRelease waits if the lease is held elsewhere and its holder has ended, until the lease is
// given back. It reports whether to decide again. After a wait in vain nobody waits for this token
// again.
func (a attempt) waitForRelease() bool {
	head, j := a.keeper.Observe()
	if !a.isReleasing(head, j) {
		return j.State == lease.Free // meanwhile
	}
	out := a.cfg.Enforcement.limit.Poll(a.waiter(), releaseWait, func() bool {
		now, j := a.keeper.Observe()
		return now.Token != head.Token || j.State == lease.Free
	})
	if out == wait.Elapsed {
		a.waitedInVain(head.Token)
	}
	return out == wait.Done
}

// waitedInVain keeps others from waiting for the same token.
func (f *fence) waitedInVain(t lease.Token) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inVain = t
}

// hasEnded reports whether an epoch is only waiting to be given back: nobody is left in its holder.
func (g *Guard) hasEnded(e *epoch) bool {
	g.mu.Lock()
	waited := g.inVain == e.id.Token()
	g.mu.Unlock()
	return !waited && e.hasLeft(g.cfg.Resolver)
}

// isReleasing reports whether a held lease is about to be given back.
func (g *Guard) isReleasing(head lease.Head, j lease.Judgement) bool {
	if head.Record == nil || j.State != lease.Held {
		return false
	}
	g.mu.Lock()
	own := g.loss.Token == head.Token && givenBack(g.loss.Kind)
	waited := g.inVain == head.Token
	g.mu.Unlock()
	return !waited && (own || g.cfg.Resolver.Liveness(head.Record.Holder()) == lease.Gone)
}

// headState returns what the record says. A lease that this daemon is just giving back counts as
// free: whoever acquires waits for the keeper in any case.
func (g *Guard) headState(head lease.Head, j lease.Judgement) lease.State {
	g.mu.Lock()
	own := g.loss.Token != 0 && g.loss.Token == head.Token && givenBack(g.loss.Kind)
	g.mu.Unlock()
	if own && j.State == lease.Held && g.cfg.OnFree == AcquireOnFree {
		return lease.Free
	}
	return j.State
}
