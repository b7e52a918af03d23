package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// If the holder of a lease has ended, its keeper gives the lease back at once: this daemon, another
// one, or a command. Until then a writer waits and is not refused.

// passOnWait bounds that wait: the keeper may be stopped.
const passOnWait = 2 * time.Second

// waitForEnd makes the keeper look at a holder that has ended. It waits until its epoch is over,
// for a bounded time. nil is no epoch.
func (g *Guard) waitForEnd(e *epoch, r Request) {
	if e == nil {
		return
	}
	g.keeper.Look()
	off := make(chan struct{})
	end, ok := g.cfg.Enforcement.waits(r, func() { close(off) })
	if !ok {
		return
	}
	defer end()
	t := time.NewTimer(passOnWait)
	defer t.Stop()
	select {
	case <-e.gone:
	case <-off:
	case <-t.C:
		g.waitedInVain(e.id.Token())
	}
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

// waitForRelease waits if the lease is held elsewhere and its holder has ended, until the lease is
// given back. It reports whether to decide again. After a wait in vain nobody waits for this token
// again.
func (g *Guard) waitForRelease(r Request) bool {
	head, j := g.keeper.Observe()
	if !g.passesOn(head, j) {
		return j.State == lease.Free // meanwhile
	}
	off := make(chan struct{})
	end, ok := g.cfg.Enforcement.waits(r, func() { close(off) })
	if !ok {
		return false
	}
	defer end()
	began := time.Now()
	for pause := time.Millisecond; time.Since(began) < passOnWait; pause = min(2*pause, 8*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-off:
			return false
		}
		if now, j := g.keeper.Observe(); now.Token != head.Token || j.State == lease.Free {
			return true
		}
	}
	g.waitedInVain(head.Token)
	return false
}

// waitedInVain keeps others from waiting for the same token.
func (g *Guard) waitedInVain(t lease.Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inVain = t
}

// hasEnded reports whether an epoch is only waiting to be given back: nobody is left in its holder.
func (g *Guard) hasEnded(e *epoch) bool {
	g.mu.Lock()
	waited := g.inVain == e.id.Token()
	g.mu.Unlock()
	return !waited && e.hasLeft(g.cfg.Resolver)
}

// passesOn reports whether a held lease is about to be given back.
func (g *Guard) passesOn(head lease.Head, j lease.Judgement) bool {
	if head.Record == nil || j.State != lease.Held {
		return false
	}
	g.mu.Lock()
	own := g.loss.Token == head.Token && givenBack(g.loss.Kind)
	waited := g.inVain == head.Token
	g.mu.Unlock()
	return !waited && (own || g.cfg.Resolver.Liveness(head.Record.Holder()) == lease.Gone)
}
