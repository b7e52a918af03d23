package gate

import "github.com/jvsfs/jvsfs/lease"

// judgeHandle lets a handle write in the epoch that it was opened in, and in exempt places.
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
	return Pass{}, g.refusal(r.Op, reasonNotExempt, nil)
}

func (g *Guard) judgeEpoch(r Request) (Pass, *Refusal) {
	switch {
	case r.Epoch == observedEpoch:
		return Pass{}, g.refusal(r.Op, reasonObservedHandle, nil)
	case r.Epoch == Moved:
		return Pass{}, g.refusal(r.Op, reasonMovedHandle, nil)
	case r.Epoch == sharedEpoch:
		return g.enter(r, g.shared, reasonStaleHandle)
	case r.Epoch.kind == kindLease:
		return g.enterOfLease(r)
	case r.Epoch.kind != kindFree:
		return Pass{}, g.refusal(r.Op, reasonStaleHandle, nil)
	}
	if _, j := g.keeper.Observe(); j.State != lease.Free {
		return Pass{}, g.refusal(r.Op, reasonStaleHandle, nil)
	}
	return g.enterIf(r, g.free.Load())
}

// enterOfLease lets a handle in that was opened under a lease. If its holder may resume, it waits for
// that first.
func (g *Guard) enterOfLease(r Request) (p Pass, no *Refusal) {
	for range 4 {
		e := g.open.Load()
		if p, no = g.enterIf(r, e); no == nil || no.Reason != reasonExpired && no.Reason != reasonStaleHandle || !g.handleResumes(r, e) {
			break
		}
	}
	return p, no
}

func (g *Guard) enterIf(r Request, e *epoch) (Pass, *Refusal) {
	if e != nil && e.covers(r.Epoch) {
		p, no := g.enter(r, e, reasonExpired)
		if no == nil || !e.isOver() {
			return p, no
		}
		e = nil // it was closed meanwhile
	}
	if e == nil && g.renewFailed(r.Epoch) {
		return Pass{}, g.refusal(r.Op, reasonRenewFailed, nil)
	}
	return Pass{}, g.refusal(r.Op, reasonStaleHandle, nil)
}

func (g *Guard) enter(r Request, e *epoch, why Reason) (Pass, *Refusal) {
	switch g.into(e, r) {
	case reasonNone:
		return Pass{e: e}, nil
	case reasonHandover:
		why = reasonHandover
	}
	return Pass{}, g.refusal(r.Op, why, e)
}

// Current reports whether handles of the epoch may write now, or may again: if a failed renewal is
// repeated with success in time, or their holder is about to resume after a pause.
func (g *Guard) Current(id Epoch) bool {
	if id.kind != kindLease {
		e := g.free.Load()
		return id == sharedEpoch || e != nil && e.id == id && !e.isOver() ||
			id == observedEpoch && g.cfg.Enforcement.Mode() == Observing
	}
	e := g.open.Load()
	return e != nil && e.covers(id) || e == nil && (g.renewFailed(id) || g.isResuming(id))
}

// renewFailed reports whether a failed renewal closed the epoch, so that it may still open again.
func (g *Guard) renewFailed(id Epoch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loss.Kind == lease.LossRenewFailed && EpochOf(g.loss.Token) == id
}
