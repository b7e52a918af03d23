package lease

import (
	"context"
	"fmt"
	"time"
)

// Renew renews now. It returns the record as written. [ClassLockNotHeld] when this keeper holds nothing; any other error has closed
// the fence before it is returned, except that of a stopped holder, whose lease simply runs on to its deadline.
func (k *Keeper) Renew(ctx context.Context) (Record, error) {
	if err := k.enter(ctx, 0); err != nil {
		return Record{}, err
	}
	defer k.leave()
	if k.cur == nil {
		return Record{}, k.notHeld()
	}
	if k.following != nil {
		return Record{}, k.busy(nil) // a follower never writes to the record
	}
	if k.cfg.Liveness(k.cur.holder) == Stopped {
		return Record{}, k.fail(ClassLockExpired, "the holder is stopped, so its lease is not renewed", "resume the holder", k.cur.claim.rec, nil)
	}
	if err := k.renewOrClose(); err != nil {
		return Record{}, err
	}
	return *k.cur.claim.rec.clone(), nil
}

func (k *Keeper) notHeld() error {
	return k.fail(ClassLockNotHeld, fmt.Sprintf("worktree %s is not held here", k.cfg.Store.id), "acquire it first", nil, nil)
}

// renewOrClose renews, or closes at once (rule 8). Whoever calls has op and k.cur.
func (k *Keeper) renewOrClose() error {
	h := k.cur
	if k.expired(k.cfg.Clock.Boot()) {
		return k.expire(nil)
	}
	began := k.cfg.Clock.Boot()
	lost, err := k.renew(h)
	k.cfg.Renewed(k.cfg.Clock.Boot()-began, err)
	k.poke()
	switch {
	case err == nil:
		return nil
	case lost:
		_ = k.lose(h.overtaken(), err) // gives nothing back, so it cannot fail
		return err
	case k.expired(k.cfg.Clock.Boot()):
		return k.expire(err)
	}
	k.interrupt(err)
	return err
}

// renew is rule 8. lost: a successor exists, and there is no way back.
func (k *Keeper) renew(h *holding) (lost bool, err error) {
	in := readClocks(k.cfg.Clock)
	if off := in.apart(h.base); off > divergenceBound(k.cfg.Policy) {
		return false, k.fail(ClassClockSkewExceeded, fmt.Sprintf("this host's clock was set by %v since the last renewal", off),
			"let the clock settle, then acquire again", nil, nil)
	}
	if err := k.ready(h); err != nil {
		return false, err
	}
	rec, err := h.claim.check()
	if err != nil {
		return k.sawSuccessor(h, err)
	}
	k.cfg.Pause("renew.before_write")
	if err := h.claim.rewrite(k.renewed(rec, h, in)); err != nil {
		return k.sawSuccessor(h, err)
	}
	if h.offer == nil && h.offerOut {
		h.offerOut, h.withdrawn = false, k.cfg.Clock.Boot()
	}
	k.cfg.Pause("renew.after_write")
	stands := !h.open && k.offerStands(h) // before the look: nobody comes after it
	if lost, err := k.stillOurs(h); err != nil {
		return lost, err
	}
	k.cfg.Pause("renew.after_look")
	if k.expired(k.cfg.Clock.Boot()) {
		return false, k.fail(ClassLockExpired, "the renewal ended after the old deadline", "acquire the lease again", nil, nil)
	}
	if stands {
		return false, k.fail(ClassLockConflict, "the lease was offered to another host, which may still take it", "wait a moment", nil, nil)
	}
	k.extend(h, in)
	return false, nil
}

// ready makes sure of LOCK_SH: an interrupted epoch gave it up.
func (k *Keeper) ready(h *holding) error {
	if h.open {
		return k.gate.intact()
	}
	return k.gate.shared()
}

// overtaken is what it means that there is a successor.
func (h *holding) overtaken() LossKind {
	if h.handing {
		return LossHandedOver
	}
	return LossSuperseded
}

// sawSuccessor prefers the reason behind a failure.
func (k *Keeper) sawSuccessor(h *holding, err error) (bool, error) {
	if found, why := h.claim.successorAnywhere(); found {
		return true, why
	}
	return false, err
}

// stillOurs looks at everything that could show a loss, after the write, and repairs the view.
func (k *Keeper) stillOurs(h *holding) (lost bool, err error) {
	if lost, err := h.claim.successorAnywhere(); err != nil {
		return lost, err
	}
	if _, err := h.claim.check(); err != nil {
		return false, err
	}
	return false, h.claim.repairView()
}

func (k *Keeper) renewed(rec *Record, h *holding, in instant) *Record {
	r := rec.clone()
	r.LastRenewedAt = in.wall.UTC()
	r.LeaseExpiresAt = in.wall.Add(k.cfg.Policy.LeaseDuration).UTC()
	r.RenewCount = nextCount(r.RenewCount)
	r.Auto, r.Purpose = h.holder.Auto, h.holder.Purpose
	r.Scope, r.ScopeKey = h.holder.Scope, clip(h.holder.ScopeKey, maxText)
	switch r.OfferedTo = ""; {
	case h.offer != nil:
		r.OfferedTo, r.OfferUntil = clip(named(h.offer.host), maxText), h.offer.until.UTC()
	case !h.handing || !k.tier().takersUnseen():
		r.OfferUntil = time.Time{} // until then it says that somebody may still come
	}
	return r
}

// extend moves the deadline, or reopens.
func (k *Keeper) extend(h *holding, in instant) {
	p := k.cfg.Policy
	h.base, h.deadline, h.renewAt = in, in.boot+p.window(), in.boot+p.renewAfter()
	reopen := !h.open
	h.open, h.err = true, nil
	g := h.grant()
	k.show(&g)
	if reopen {
		if h.handing { // an offer was broken off with the epoch: nobody took it, and the record forgets it at once
			h.handing, h.renewAt = false, in.boot
		}
		k.cfg.Fence.Open(g)
		return
	}
	k.cfg.Fence.Extend(g.Token, g.Deadline)
}
