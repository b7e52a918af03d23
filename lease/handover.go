package lease

import (
	"context"
	"fmt"
)

// Handover gives the lease old, held here, to h under the next token (rule 13). Until ctx ends it waits for what is in flight and
// for settle, which makes durable what was written (nil: nothing is to be done); renewals go on meanwhile. Without an error h holds.
//
// With an error nothing has changed: old is held and its writers go on, unless it ended by itself meanwhile, which [Keeper.Held]
// tells. The exception is a [ClassStoreFailed] or [ClassLockExpired] after the new claim was born, when nobody holds; its Message
// says so. Classes: [ClassLockNotHeld], [ClassFencingMismatch] when old is not what is held, [ClassLockConflict] when it could not
// be drained in time, [ClassAuditFailed].
func (k *Keeper) Handover(ctx context.Context, old Token, h Holder, settle func(context.Context) error) (Grant, error) {
	before, err := k.handable(ctx, old, h)
	if err != nil {
		return Grant{}, err
	}
	resume, err := k.cfg.Fence.Hold(ctx, old)
	if err != nil {
		return Grant{}, k.undrained(old, err)
	}
	defer resume() // does nothing once the epoch is closed
	k.cfg.Pause("handover.held")
	if settle != nil {
		if err := settle(ctx); err != nil {
			return Grant{}, k.unsettled(err)
		}
	}
	return k.transfer(ctx, before, h)
}

func (k *Keeper) undrained(t Token, err error) error {
	return k.fail(ClassLockConflict, fmt.Sprintf("what is in flight under token %d did not end in time, so nothing has changed", t),
		"try again with a longer wait; jvsfs status --json counts what is in flight", nil, err)
}

func (k *Keeper) unsettled(err error) error {
	return k.fail(ClassLockConflict, "what was written could not be made durable in time, so nothing has changed",
		"look at the disk, then try again with a longer wait", nil, err)
}

// uninterrupted is an epoch as it was seen: when it is still the same, no Close and no Open came in between, so a Hold since is
// in force. (A failed renewal closes an epoch, and a later one opens it anew under the same token, but not held up.)
type uninterrupted struct {
	holding    *holding
	token      Token
	interrupts int
}

// handable says whether the lease can be handed over at all, before anybody is made to wait.
func (k *Keeper) handable(ctx context.Context, old Token, h Holder) (uninterrupted, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return uninterrupted{}, err
	}
	defer k.leave()
	if err := k.holds(old); err != nil {
		return uninterrupted{}, err
	}
	if k.cur.holder.same(h) {
		return uninterrupted{}, k.fail(ClassLockConflict, "it holds the lease already", "name somebody else", k.cur.claim.rec, nil)
	}
	return uninterrupted{k.cur, old, k.cur.interrupts}, nil
}

// holds says whether token t is held and its epoch open. The caller has op.
func (k *Keeper) holds(t Token) error {
	switch {
	case k.cur == nil:
		return k.notHeld()
	case k.lead != nil:
		return k.busy(nil) // the leader's to give
	case k.cur.token() != t:
		return k.fail(ClassFencingMismatch, fmt.Sprintf("token %d is held, not %d", k.cur.token(), t),
			"look again at who holds", k.cur.claim.rec, nil)
	case !k.cur.open || k.expired(k.cfg.Clock.Boot()):
		return k.fail(ClassLockExpired, fmt.Sprintf("token %d is not being renewed", t), "look at jvsfs doctor", k.cur.claim.rec, k.cur.err)
	}
	return nil
}

// same says whether the epoch is still the one that was held up. The caller has op.
func (k *Keeper) same(before uninterrupted) error {
	if err := k.holds(before.token); err != nil {
		return err
	}
	if (uninterrupted{k.cur, before.token, k.cur.interrupts}) != before {
		return k.fail(ClassLockExpired, "a renewal failed meanwhile, so the lease was not given away", "try again", k.cur.claim.rec, nil)
	}
	return nil
}

// transfer claims the next token for h. The fence is held up and drained. The gate stays ours by LOCK_SH from the old epoch to the
// new, so no taker can be between its second look and its view (rule 4), and link decides where flock proves nothing.
func (k *Keeper) transfer(ctx context.Context, before uninterrupted, h Holder) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if err := k.same(before); err != nil {
		return Grant{}, err
	}
	cur := k.cur
	if err := k.gate.intact(); err != nil {
		return Grant{}, err
	}
	if _, err := cur.claim.unreleased(); err != nil {
		return Grant{}, err // the next renewal draws the conclusions
	}
	in := readClocks(k.cfg.Clock) // t0: before the record is written
	rec := k.newRecord(h, Head{Record: cur.claim.rec, Token: before.token}, in)
	rec.HandedOver = true
	c, err := k.cfg.Store.bear(rec)
	if err != nil {
		return Grant{}, err
	}
	if err := k.linkHandover(c, cur, h); err != nil {
		return Grant{}, err
	}
	return k.follow(c, cur, h, in)
}

// linkHandover audits and links. On failure nothing of c is left.
func (k *Keeper) linkHandover(c *claim, cur *holding, h Holder) error {
	err := k.audit(Event{Kind: "handover", Token: c.rec.FencingToken, Previous: cur.token(), Holder: h, From: cur.holder,
		Reason: "its holder handed it over"})
	if err != nil {
		c.discard()
		return k.fail(ClassAuditFailed, "the handover could not be audited, so it did not happen", "repair the audit log", nil, err)
	}
	k.cfg.Pause("handover.before_link")
	claiming(c.rec)
	won, err := c.link()
	if err == nil && !won {
		err = (&taking{k: k}).beaten()
	}
	if err != nil {
		c.discard()
		return err
	}
	claimed(c.rec)
	k.cfg.Pause("handover.after_link")
	return nil
}

// follow ends the old epoch, whose token is superseded now, and opens the new one.
func (k *Keeper) follow(c *claim, cur *holding, h Holder, in instant) (Grant, error) {
	k.show(nil)
	k.cfg.Fence.Close(Loss{Kind: LossHandedOver, Token: cur.token(), Holder: cur.holder})
	cur.open, k.cur = false, nil
	cur.claim.close()
	k.cfg.Pause("handover.closed")
	err := c.publish()
	p := k.cfg.Policy
	h.SessionID, h.Purpose = c.rec.SessionID, c.rec.Purpose
	next := &holding{claim: c, holder: h, base: in, deadline: in.boot + p.window(), renewAt: in.boot + p.renewAfter(), open: true}
	if err == nil {
		_, err = c.successorAnywhere()
	}
	if err == nil && k.cfg.Clock.Boot() >= next.deadline-p.closeLead() {
		err = k.fail(ClassLockExpired, "handing the lease over took longer than it lasts", "acquire it; look at the lock directory's disk", nil, nil)
	}
	if err != nil {
		k.giveBack(c)
		k.audit(Event{Kind: "release", Token: c.rec.FencingToken, Previous: cur.token(), Holder: h, Reason: err.Error()})
		k.gate.unlock()
		return Grant{}, k.fail(ClassOf(k.asError(err)), "the lease was taken from its holder, but could not be given to the next: nobody holds it",
			"acquire it", nil, err)
	}
	k.forgetLapsed()
	k.cur = next
	g := next.grant()
	k.show(&g)
	k.cfg.Fence.Open(g)
	k.poke()
	return g, nil
}
