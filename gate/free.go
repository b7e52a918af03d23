package gate

import "github.com/jvsfs/jvsfs/lease"

// enterFree lets a mutation pass without a lease.
func (g *Guard) enterFree(m Mode) (Pass, bool) {
	if m == Shared {
		return Pass{e: g.shared}, g.shared.enter(g.cfg.Clock)
	}
	e := g.freeEpoch()
	if !e.enter(g.cfg.Clock) {
		return Pass{}, false
	}
	// Count first, look afterwards: the decision may be out of date, and Open sets its flag before
	// it drains.
	if !g.freeStill() || g.opening.Load() || g.open.Load() != nil {
		e.leave()
		return Pass{}, false
	}
	return Pass{e: e}, true
}

// freeEpoch returns the epoch of writes without a lease. A new one is listed in epochs before
// anything can enter it. It begins only after the former has drained: until then Open leaves the
// former in its place.
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

// EndFree drains what is written without a lease: somebody has taken it who cannot be told. It is not free any more when it is
// asked for.
func (g *Guard) EndFree() {
	g.opening.Store(true)
	defer g.opening.Store(false)
	g.endFree()
}

// endFree is called while opening is set.
func (g *Guard) endFree() {
	if f := g.free.Load(); f != nil {
		f.end()
		g.free.Store(nil) // not before end: otherwise a new one would begin beside what is in flight
		g.runClose(lease.Loss{Kind: lease.LossReleased})
	}
}

// Bar keeps a holder out that is known to have lost its lease to another, until it acquires on purpose.
func (g *Guard) Bar(h lease.Holder) {
	c := g.cfg.Resolver.formerProcesses(h, g.cfg.Clock.Boot())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revoke(lease.Loss{Kind: lease.LossSuperseded, Holder: h}, c)
}
