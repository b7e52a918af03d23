package gate

import "github.com/jvsfs/jvsfs/lease"

// enterFree lets a mutation pass without a lease.
func (a attempt) enterFree() (Pass, bool) {
	if a.cfg.Mode == Shared {
		return Pass{e: a.shared}, a.shared.enter(a.cfg.Clock)
	}
	e := a.freeEpoch()
	if !e.enter(a.cfg.Clock) {
		return Pass{}, false
	}
	// Count first, look afterwards: the decision may be out of date, and Open sets its flag before
	// it drains.
	if !a.freeStill() || a.opening.Load() || a.open.Load() != nil {
		e.leave()
		return Pass{}, false
	}
	return Pass{e: e}, true
}

// freeEpoch returns the epoch of writes without a lease. A new one is listed in epochs before
// anything can enter it. It begins only after the former has drained: until then Open leaves the
// former in its place.
func (f *fence) freeEpoch() *epoch {
	if e := f.free.Load(); e != nil {
		return e
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.free.Load(); e != nil {
		return e
	}
	f.freeSeq++
	e := newEpoch(freeEpochOf(f.freeSeq), lease.Holder{}, never, 0)
	f.lastFree.Store(e)
	f.free.Store(e)
	return e
}

// freeStill reports whether nobody holds the lease, here or elsewhere.
func (a attempt) freeStill() bool {
	a.mu.Lock()
	closing := a.closing != nil || a.loss.Kind == lease.LossRenewFailed
	a.mu.Unlock()
	_, j := a.keeper.Observe()
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
