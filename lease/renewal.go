package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Renew renews now and returns the record as written. If this keeper holds nothing, the error is [ClassLockNotHeld]. If the holder is
// stopped, the error is [ClassLockExpired] and the lease lasts until its deadline. After any other error the fence is closed.
func (k *Keeper) Renew(ctx context.Context) (record.Record, error) {
	if err := k.enter(ctx, 0); err != nil {
		return record.Record{}, err
	}
	defer k.leave()
	if k.cur == nil {
		return record.Record{}, k.store.notHeld()
	}
	if k.following != nil {
		return record.Record{}, k.store.busy(nil) // a follower never writes to the record
	}
	if k.cfg.Liveness(k.cur.holder) == Stopped {
		return record.Record{}, k.store.refuse(ClassLockExpired, "the holder is stopped, so its lease is not renewed", "resume the holder", k.cur.claim.Record(), nil)
	}
	if err := k.renewOrClose(); err != nil {
		return record.Record{}, err
	}
	return *k.cur.claim.Record().Clone(), nil
}

// renewOrClose renews, or closes the epoch at once (rule 8). The caller has op, and k.cur is not nil.
func (k *Keeper) renewOrClose() error {
	h := k.cur
	if k.expired(k.cfg.Clock.Boot()) {
		return k.lapse(nil)
	}
	r := renewal{k: k, h: h, t0: readClocks(k.cfg.Clock)}
	lost, err := r.renew()
	k.cfg.Renewed(k.cfg.Clock.Boot()-r.t0.boot, err)
	k.wake.poke()
	switch {
	case err == nil:
		return nil
	case lost:
		_ = k.lose(h.overtaken(), err) // gives nothing back, so it cannot fail
		return err
	case k.expired(k.cfg.Clock.Boot()):
		return k.lapse(err)
	}
	ending{k: k, kind: LossRenewFailed, why: err}.interrupt()
	return err
}

// renewal is one attempt to renew the lease. It owns t0, from which the new deadline counts.
type renewal struct {
	k  *Keeper
	h  *holding
	t0 instant
}

// renew is rule 8. lost says that there is a successor, so no later renewal can help.
func (r *renewal) renew() (lost bool, err error) {
	k, h := r.k, r.h
	if off := r.apart(); off > divergenceBound(k.cfg.Policy) {
		return false, k.store.refuse(ClassClockSkewExceeded, fmt.Sprintf("this host's clock was set by %v since the last renewal", off),
			"let the clock settle, then acquire again", nil, nil)
	}
	if err := r.ready(); err != nil {
		return false, err
	}
	rec, err := h.claim.Check()
	if err != nil {
		return r.sawSuccessor(err)
	}
	k.cfg.Pause("renew.before_write")
	if err := h.claim.Write(r.renewed(rec)); err != nil {
		return r.sawSuccessor(err)
	}
	if h.offer == nil && h.offerOut {
		h.offerOut, h.withdrawn = false, k.cfg.Clock.Boot()
	}
	k.cfg.Pause("renew.after_write")
	stands := !h.open && k.offerStands(h) // before the look, so that the look sees every taker
	if lost, err := r.stillOurs(); err != nil {
		return lost, err
	}
	k.cfg.Pause("renew.after_look")
	if k.expired(k.cfg.Clock.Boot()) {
		return false, k.store.refuse(ClassLockExpired, "the renewal ended after the old deadline", "acquire the lease again", nil, nil)
	}
	if stands {
		return false, k.store.refuse(ClassLockConflict, "the lease was offered to another host, which may still take it", "wait a moment", nil, nil)
	}
	r.extend()
	return false, nil
}

// apart is how far the clocks have moved apart since the record was written, where the wall clock says when a lease is over.
func (r *renewal) apart() time.Duration {
	if !r.k.store.tier().asksWallClock() {
		return 0
	}
	return r.t0.apart(r.h.base)
}

// ready makes sure of LOCK_SH. An interrupted epoch has dropped it, and so has an offer.
func (r *renewal) ready() error {
	switch {
	case r.h.open && r.h.handing:
		return r.k.gate.intact()
	case r.h.open:
		return r.k.gate.proven()
	}
	return r.k.gate.shared()
}

// overtaken is what a successor means for this lease.
func (h *holding) overtaken() LossKind {
	if h.handing {
		return LossHandedOver
	}
	return LossSuperseded
}

// sawSuccessor replaces err by the reason behind it, if that is a successor.
func (r *renewal) sawSuccessor(err error) (bool, error) {
	if found, why := r.h.claim.Over(true); found {
		return true, why
	}
	return false, err
}

// stillOurs looks for every sign of a loss after the write, and repairs the view.
func (r *renewal) stillOurs() (lost bool, err error) {
	if lost, err := r.h.claim.Over(true); err != nil {
		return lost, err
	}
	if _, err := r.h.claim.Check(); err != nil {
		return false, err
	}
	return false, r.h.claim.Repair()
}

// renewed is old, read back from the claim, as this renewal writes it.
func (r *renewal) renewed(old *record.Record) *record.Record {
	k, h, rec := r.k, r.h, old.Clone()
	rec.LastRenewedAt = r.t0.wall.UTC()
	rec.LeaseExpiresAt = r.t0.wall.Add(k.cfg.Policy.LeaseDuration).UTC()
	rec.RenewCount = record.NextCount(rec.RenewCount)
	rec.Auto, rec.Purpose = h.holder.Auto, h.holder.Purpose
	if name := record.PlainClient(k.cfg.storeClient()); name != "" { // a client that was evicted comes back as another one
		rec.StoreClient = name
	}
	rec.Fence = k.cfg.fences()
	rec.Scope, rec.ScopeKey = h.holder.Scope, record.Clip(h.holder.ScopeKey, record.MaxText)
	switch rec.OfferedTo = ""; {
	case h.offer != nil:
		rec.OfferedTo, rec.OfferUntil = record.Clip(record.Named(h.offer.host), record.MaxText), h.offer.until.UTC()
	case !h.handing || !k.store.tier().takersUnseen():
		rec.OfferUntil = time.Time{} // it stays while a taker may still come
	}
	return rec
}

// extend moves the deadline. It reopens an interrupted epoch.
func (r *renewal) extend() {
	k, h, p := r.k, r.h, r.k.cfg.Policy
	h.base, h.deadline, h.renewAt = r.t0, h.claim.From(r.t0.boot)+p.Window(), r.t0.boot+p.RenewAfter()
	h.renewAt = min(h.renewAt, r.t0.boot+max((h.deadline-r.t0.boot)/2, k.cfg.Tick)) // sooner, if the authority has not said more
	reopen := !h.open
	h.open, h.err = true, nil
	g := k.grant(h)
	k.shown.set(&g)
	if reopen {
		if h.handing { // the offer ended with the epoch, and nobody took it: renew again at once, without it
			h.handing, h.renewAt = false, r.t0.boot
		}
		k.cfg.Fence.Open(g)
		return
	}
	k.cfg.Fence.Extend(g.Token, g.Deadline)
}
