package lease

import (
	"context"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Handover gives the lease old, held here, to h under the next token (rule 13). Until ctx ends it waits for mutations that are in
// flight and for settle, which makes durable what was written (nil: there is nothing to do). Renewals go on meanwhile. Without an
// error h holds.
//
// With an error nothing has changed: old is held and its writers go on. It may have ended by itself meanwhile; [Keeper.Held] says so.
// There is one exception: after the new claim was made, a [ClassStoreFailed] or [ClassLockExpired] means that nobody holds, and its
// Message says so. Other classes: [ClassLockNotHeld]; [ClassFencingMismatch] if another token is held; [ClassLockConflict] if the
// epoch did not drain in time; [ClassAuditFailed].
func (k *Keeper) Handover(ctx context.Context, old Token, h Holder, settle func(context.Context) error) (Grant, error) {
	g, err := k.give(ctx, old, h)
	if err != nil {
		return Grant{}, err
	}
	thaw, err := g.freeze(ctx)
	if err != nil {
		return Grant{}, err
	}
	defer thaw()
	k.cfg.Pause("handover.held")
	if err := g.settle(ctx, settle); err != nil {
		return Grant{}, err
	}
	return handover{g, h}.transfer(ctx)
}

// handover is one attempt to give the lease to another holder on this host. The epoch is frozen and has drained.
type handover struct {
	leaseTransfer
	to Holder
}

// transfer claims the next token for the new holder. The keeper has LOCK_SH from the old epoch to the new one, so no taker can be
// between its second look and its view (rule 4). Where flock proves nothing, link decides.
func (g handover) transfer(ctx context.Context) (Grant, error) {
	k := g.k
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if err := g.same(); err != nil {
		return Grant{}, err
	}
	cur := k.cur
	if err := k.gate.intact(); err != nil {
		return Grant{}, err
	}
	if _, err := unreleased(cur.claim); err != nil {
		return Grant{}, err // the next renewal draws the conclusions
	}
	in := readClocks(k.cfg.Clock) // t0: before the record is written
	over := cur.claim.Head()
	rec := k.store.newRecord(k.cfg.Policy, g.to, over, in)
	rec.HandedOver, rec.StoreClient = true, record.PlainClient(k.cfg.storeClient())
	rec.Fence = k.cfg.fences()
	c, err := k.cfg.Authority.Claim(rec, over)
	if err != nil {
		return Grant{}, err
	}
	if err := g.link(c, cur); err != nil {
		return Grant{}, err
	}
	return g.follow(c, cur, in)
}

// link tells the audit and links. On failure nothing of c is left.
func (g handover) link(c Tenure, cur *holding) error {
	k := g.k
	e := Event{Kind: EventHandover, Token: c.Record().FencingToken, Previous: cur.token(), Holder: g.to, From: cur.holder,
		Reason: "its holder handed it over"}
	err := k.tell.Now(e)
	if err != nil {
		c.Discard()
		return k.store.refuse(ClassAuditFailed, "the handover could not be audited, so it did not happen", "repair the audit log", nil, err)
	}
	k.cfg.Pause("handover.before_link")
	claiming(c.Record())
	won, err := c.Win(e)
	if err == nil && !won {
		err = (&taking{k: k}).beaten()
	}
	if err != nil {
		c.Discard()
		return err
	}
	claimed(c.Record())
	k.cfg.Pause("handover.after_link")
	return nil
}

// follow ends the old epoch, which has a successor now, and opens the new one.
func (g handover) follow(c Tenure, cur *holding, in instant) (Grant, error) {
	k, h := g.k, g.to
	k.shown.set(nil)
	k.cfg.Fence.Close(cur.loss(LossHandedOver, nil))
	cur.open, k.cur = false, nil
	cur.claim.Close()
	k.cfg.Pause("handover.closed")
	err := c.Publish()
	p := k.cfg.Policy
	h.SessionID, h.Purpose = c.Record().SessionID, c.Record().Purpose
	next := &holding{claim: c, holder: h, base: in, deadline: c.From(in.boot) + p.Window(), renewAt: in.boot + p.RenewAfter(), open: true}
	if err == nil {
		_, err = c.Over(true)
	}
	if err == nil && k.cfg.Clock.Boot() >= next.deadline-p.CloseLead() {
		err = k.store.refuse(ClassLockExpired, "handing the lease over took longer than it lasts", "acquire it; look at the lock directory's disk", nil, nil)
	}
	if err != nil {
		e := Event{Kind: EventRelease, Token: c.Record().FencingToken, Previous: cur.token(), Holder: h, Reason: err.Error()}
		k.giveBack(c, e)
		_ = k.tell.Now(e)
		k.gate.unlock()
		return Grant{}, k.store.refuse(ClassOf(k.store.asError(err)), "the lease was taken from its holder, but could not be given to the next: nobody holds it",
			"acquire it", nil, err)
	}
	k.forgetLapsed()
	k.cur = next
	grant := k.grant(next)
	k.shown.set(&grant)
	k.cfg.Fence.Open(grant)
	k.wake.poke()
	return grant, nil
}
