package lease

import (
	"context"
	"fmt"
)

// Acquire takes the lease for h when it is free or may be stolen. If this keeper holds it for the same holder already, that
// grant is returned; a call on purpose (h.Auto false) makes it one on purpose. A lease of the same holder that expired here
// and that nobody took is continued with the next token. Otherwise the error is [ClassLockConflict] and names the holder,
// or one of [ClassClockSkewExceeded], [ClassRecordUnreadable], [ClassAuditFailed], [ClassStoreFailed].
// It waits at most GateWait for each of: other calls, the gate. For an automatic holder it never closes the fence itself: the
// caller is a writer's request, and the close may wait for the kernel to be done with that very request.
func (k *Keeper) Acquire(ctx context.Context, h Holder) (Grant, error) {
	return k.take(ctx, h, true)
}

// Steal is Acquire by rule 5 alone: what this keeper's own holder lost by expiry must pass skew and grace like anybody else's.
func (k *Keeper) Steal(ctx context.Context, h Holder) (Grant, error) {
	return k.take(ctx, h, false)
}

func (k *Keeper) take(ctx context.Context, h Holder, resume bool) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if err := k.cfg.Policy.Validate(); err != nil {
		return Grant{}, k.store.refuse(ClassStoreFailed, "the lease policy is invalid", "correct the policy", nil, err)
	}
	if k.cur != nil && k.expired(k.cfg.Clock.Boot()) {
		if h.Auto {
			k.wake.poke()
			return Grant{}, k.store.busy(nil)
		}
		_ = k.expire(nil) // why is in what follows: nobody holds now
	}
	tk := taking{k: k, holder: h, resume: resume}
	if tk.passesOn() {
		if h.Auto {
			k.wake.poke()
			return Grant{}, k.store.busy(nil)
		}
		_ = k.lose(LossHolderGone, nil) // where the record cannot be written, look says so
	}
	if k.cur != nil {
		return tk.again()
	}
	if !tk.seenFree() {
		if err := tk.look(); err != nil {
			return Grant{}, err
		}
	}
	k.cfg.Pause("acquire.before_gate")
	if err := k.gate.exclusive(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, tk.blame(err)
	}
	return tk.claim()
}

// passesOn is whether the lease that is held here is for this holder to take: its holder has ended, and it is only to be given back.
func (tk *taking) passesOn() bool {
	k, h := tk.k, tk.holder
	return k.cur != nil && k.following == nil && !k.cur.holder.same(h) && k.cfg.Liveness(k.cur.holder) == Gone
}

// again is Acquire while this keeper holds.
func (tk *taking) again() (Grant, error) {
	k, h, cur := tk.k, tk.holder, tk.k.cur
	if !cur.holder.same(h) {
		return Grant{}, k.store.conflict(Head{Record: cur.claim.rec, Token: cur.token()},
			Judgement{State: Held, Until: cur.claim.rec.LeaseExpiresAt, Reason: "its lease lasts"})
	}
	changed := (cur.holder.Auto && !h.Auto) || (h.Purpose != "" && !h.Auto && h.Purpose != cur.holder.Purpose)
	if changed {
		cur.holder.Auto = false
		if h.Purpose != "" {
			cur.holder.Purpose = clip(h.Purpose, maxText)
		}
	}
	if h.Auto && !cur.open {
		return Grant{}, k.store.busy(cur.err)
	}
	if changed || !cur.open {
		if err := k.renewOrClose(); err != nil {
			return Grant{}, err
		}
	}
	return k.cur.grant(), nil
}

// Replace gives the lease old, held here, to h under the next token; no other keeper can come in between. Without an error old is
// released and h holds. After an error [Keeper.Held] says whether old is still held: it is until the turn (rule 4) was had, so with
// one of class [ClassFencingMismatch], and with a [ClassLockConflict] over the turn. Once the turn was had old is over for good, and
// with any error nobody holds here: another class of failure, or a conflict with whoever holds the gate against the rules or has
// put up a record meanwhile. The record of old is then released or, with [ClassStoreFailed], may have to run out.
func (k *Keeper) Replace(ctx context.Context, old Token, h Holder) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if k.cur != nil && k.expired(k.cfg.Clock.Boot()) {
		_ = k.expire(nil) // why is in what follows: nobody holds now
	}
	if k.cur == nil {
		return Grant{}, k.store.notHeld()
	}
	if k.cur.token() != old {
		return Grant{}, k.store.refuse(ClassFencingMismatch, fmt.Sprintf("token %d is held, not %d", k.cur.token(), old),
			"look again at who holds", k.cur.claim.rec, nil)
	}
	// The turn first: with it nobody else can take the gate when we let LOCK_SH go.
	if err := k.gate.takeTurn(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	if err := (ending{k: k, kind: LossReleased, keepGate: true}).end(); err != nil {
		k.gate.unlock()
		return Grant{}, err
	}
	if err := k.gate.takeGate(ctx, k.cfg.GateWait); err != nil {
		k.gate.unlock()
		return Grant{}, err
	}
	tk := taking{k: k, holder: h}
	if err := tk.look(); err != nil {
		k.gate.unlock()
		return Grant{}, err
	}
	return tk.claim()
}
