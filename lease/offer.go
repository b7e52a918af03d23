package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// offer is what the record says of an offer (rule 14).
type offer struct {
	host  string
	until time.Time // on our wall clock, for the record
}

// OfferTo offers the lease old, held here, to a host. The next holder there who acquires it on purpose gets it. OfferTo returns the
// record of that holder. Until ctx ends it waits for mutations that are in flight, for settle (see [Keeper.Handover]), and for the
// taker. by is when ctx ends, for the record.
//
// With an error the lease was not given away: old is held and its writers go on, unless it ended by itself meanwhile. Where the gate
// cannot prove that nobody is taking the lease, the error comes later than ctx ends, by twice skew and grace.
func (k *Keeper) OfferTo(ctx context.Context, old Token, host string, by time.Time, settle func(context.Context) error) (record.Record, error) {
	g, err := k.give(ctx, old, Holder{Host: host})
	if err != nil {
		return record.Record{}, err
	}
	if k.store.tier().takersUnseen() && k.cfg.Policy.TakeWithin() == 0 {
		return record.Record{}, k.store.refuse(ClassLockConflict, "max_clock_skew and steal_grace are 0, so nobody could take it in time",
			"release it, or hand it over on this host", nil, nil)
	}
	thaw, err := g.freeze(ctx)
	if err != nil {
		return record.Record{}, err
	}
	defer thaw()
	if err := g.settle(ctx, settle); err != nil {
		return record.Record{}, err
	}
	s := standingOffer{g, offer{host, by}}
	if err := s.putUp(ctx); err != nil {
		return record.Record{}, err
	}
	return s.awaitTaker(ctx)
}

// standingOffer is one attempt to offer the lease to another host. The epoch is frozen and has drained.
type standingOffer struct {
	leaseTransfer
	offer offer
}

// putUp writes the offer into the own record and then drops LOCK_SH: the epoch has drained, so a taker may have LOCK_EX.
func (s standingOffer) putUp(ctx context.Context) error {
	k := s.k
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return err
	}
	defer k.leave()
	if err := s.same(); err != nil {
		return err
	}
	if err := k.keeps(k.cur.claim.Record()); err != nil {
		return err
	}
	k.cur.offer, k.cur.handing, k.cur.offerOut = &s.offer, true, true
	k.cfg.Pause("offer.before_write")
	if err := k.renewOrClose(); err != nil { // which writes the offer
		return err
	}
	k.cfg.Pause("offer.after_write")
	k.gate.unlock()
	return nil
}

// awaitTaker waits until somebody has taken the lease. When ctx ends it withdraws the offer. Renewals go on meanwhile.
func (s standingOffer) awaitTaker(ctx context.Context) (record.Record, error) {
	tick := time.NewTicker(s.k.cfg.Tick)
	defer tick.Stop()
	over := ctx.Done()
	for {
		select {
		case <-tick.C:
		case <-over:
			over = nil // look now, and then at each tick
		}
		rec, done, err := s.lookForTaker(ctx.Err() != nil)
		if done {
			return rec, err
		}
	}
}

// lookForTaker is one look. withdraw says that the offer shall be withdrawn.
func (s standingOffer) lookForTaker(withdraw bool) (rec record.Record, done bool, err error) {
	k := s.k
	if err := k.enter(context.Background(), 0); err != nil {
		return record.Record{}, true, err
	}
	defer k.leave()
	if s.same() != nil {
		if h := k.cur; h == s.was.holding && h.open && h.interrupts == s.was.interrupts {
			_ = k.expire(nil) // that is why; it comes before the thaw, for nobody has LOCK_SH
		}
		rec, err := s.takenBy()
		return rec, true, err
	}
	if found, why := k.cur.claim.Over(true); found {
		_ = k.lose(LossHandedOver, why) // gives nothing back, so it cannot fail
		rec, err := s.takenBy()
		return rec, true, err
	}
	if !withdraw {
		return record.Record{}, false, nil
	}
	if done, err := s.withdraw(); !done || err != nil {
		return record.Record{}, done, err
	}
	return record.Record{}, true, k.store.refuse(ClassLockConflict, fmt.Sprintf("nobody on %s took the lease in time, so nothing has changed", record.Printable(s.offer.host)),
		"run there: jvsfs lock acquire --wait 1m WORKTREE, and here try again", nil, nil)
}

// withdraw withdraws the offer as soon as that is possible. The epoch is frozen until then. Once the keeper has LOCK_SH, no taker is
// between its second look and its view, and a later look finds no offer. Where flock proves nothing, a taker that saw the offer
// before may still link, but within TakeWithin only. The keeper waits for that.
func (s standingOffer) withdraw() (done bool, err error) {
	k, h := s.k, s.k.cur
	if h.offer != nil {
		if !k.gate.hasShared() {
			return false, nil // somebody is taking the lease, or was stopped while it did
		}
		k.cfg.Pause("offer.withdraw")
		if found, _ := h.claim.Over(true); found {
			k.gate.unlock()
			return false, nil // the next look ends the lease
		}
		h.offer = nil
		if err := k.renewOrClose(); err != nil { // which writes the record without it
			return true, err
		}
	}
	if k.offerStands(h) {
		return false, nil
	}
	if found, _ := h.claim.Over(true); found {
		return false, nil
	}
	h.handing, h.renewAt = false, k.cfg.Clock.Boot() // the record forgets it at once
	k.wake.poke()
	return true, nil
}

// offerStands is whether somebody may still take the lease by an offer, whatever the gate says. Twice TakeWithin leaves room for clocks
// of different pace, and for a store that shows the new record late.
func (k *Keeper) offerStands(h *holding) bool {
	return k.store.tier().takersUnseen() && h.handing &&
		(h.offerOut || k.cfg.Clock.Boot() < h.withdrawn+2*k.cfg.Policy.TakeWithin())
}

// offers is whether the record offers the lease to h. The end of the offer by the wall clock is for people; no rule depends on it.
func offers(r *record.Record, now time.Time, h Holder) bool {
	return r != nil && !r.Released && !h.Auto && r.OfferedTo != "" && r.OfferedTo == record.Clip(record.Named(h.Host), record.MaxText) && now.Before(r.OfferUntil)
}

// tooLate is whether a taker must not use the offer any more: TakeWithin has passed since before it saw the offer.
func (tk *taking) tooLate(now time.Duration) bool {
	p := tk.k.cfg.Policy
	if tk.head.Record != nil {
		p = p.Milder(tk.head.Record.Policy())
	}
	return tk.offered && tk.k.store.tier().takersUnseen() && now-tk.looked >= p.TakeWithin()
}

// inTime is an error if it is too late.
func (tk *taking) inTime() error {
	if !tk.tooLate(tk.k.cfg.Clock.Boot()) {
		return nil
	}
	return tk.k.store.refuse(ClassLockExpired, "taking what was offered took longer than its holder waits", "try again; look at the lock directory's disk", nil, nil)
}

// takenBy is the taker's record after the offer is over, or why there is none.
func (s standingOffer) takenBy() (record.Record, error) {
	k, before := s.k, s.was
	h, _, err := k.cfg.Authority.Look()
	switch {
	case err != nil:
		return record.Record{}, err
	case h.Record != nil && h.Token > before.token:
		return *h.Record.Clone(), nil
	}
	return record.Record{}, k.store.refuse(ClassLockExpired, fmt.Sprintf("token %d ended while it was offered", before.token), "acquire it", h.Record, nil)
}
