package gate

import "github.com/jvsfs/jvsfs/lease"

// judgeHandle lets a handle write in the epoch that it was opened in, and in exempt places.
func (a attempt) judgeHandle() (Pass, *Refusal) {
	if a.mode == ReadOnly {
		return Pass{}, a.refusal(a.Op, ReasonReadOnly, nil)
	}
	if a.Epoch != ByPlace {
		p, no := a.judgeEpoch()
		if no == nil || a.At == nil {
			return p, no
		}
		if p, ok := a.exempted(); ok {
			return p, nil
		}
		return Pass{}, no
	}
	if p, ok := a.exempted(); ok {
		return p, nil
	}
	return Pass{}, a.refusal(a.Op, reasonNotExempt, nil)
}

func (a attempt) judgeEpoch() (Pass, *Refusal) {
	switch {
	case a.Epoch == observedEpoch:
		return Pass{}, a.refusal(a.Op, reasonObservedHandle, nil)
	case a.Epoch == Moved:
		return Pass{}, a.refusal(a.Op, reasonMovedHandle, nil)
	case a.Epoch == sharedEpoch:
		return a.enter(a.shared, reasonStaleHandle)
	case a.Epoch.kind == kindLease:
		return a.enterOfLease()
	case a.Epoch.kind != kindFree:
		return Pass{}, a.refusal(a.Op, reasonStaleHandle, nil)
	}
	if _, j := a.keeper.Observe(); j.State != lease.Free {
		return Pass{}, a.refusal(a.Op, reasonStaleHandle, nil)
	}
	return a.enterIf(a.free.Load())
}

// enterOfLease lets a handle in that was opened under a lease. If its holder may resume, it waits for
// that first.
func (a attempt) enterOfLease() (p Pass, no *Refusal) {
	for range 4 {
		e := a.open.Load()
		if p, no = a.enterIf(e); no == nil || no.Reason != reasonExpired && no.Reason != reasonStaleHandle || !a.handleResumes(e) {
			break
		}
	}
	return p, no
}

func (a attempt) enterIf(e *epoch) (Pass, *Refusal) {
	if e != nil && e.covers(a.Epoch) {
		p, no := a.enter(e, reasonExpired)
		if no == nil || !e.isOver() {
			return p, no
		}
		e = nil // it was closed meanwhile
	}
	if e == nil && a.renewFailed(a.Epoch) {
		return Pass{}, a.refusal(a.Op, reasonRenewFailed, nil)
	}
	return Pass{}, a.refusal(a.Op, reasonStaleHandle, nil)
}

func (a attempt) enter(e *epoch, why Reason) (Pass, *Refusal) {
	switch a.into(e) {
	case reasonNone:
		return Pass{e: e}, nil
	case reasonHandover:
		why = reasonHandover
	}
	return Pass{}, a.refusal(a.Op, why, e)
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
func (f *fence) renewFailed(id Epoch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loss.Kind == lease.LossRenewFailed && EpochOf(f.loss.Token) == id
}
