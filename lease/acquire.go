package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Acquire takes the lease for h if it is free or may be stolen. If this keeper holds it for the same holder already, Acquire returns
// that grant; a call on purpose (h.Auto false) makes it a lease on purpose, also for another scope of the process that it is bound
// to: the token stays, and what was opened under it goes on. If a lease of the same holder expired here and nobody
// took it since, it goes on with the next token. Otherwise the error is [ClassLockConflict] and names the holder, or it is one of
// [ClassClockSkewExceeded], [ClassRecordUnreadable], [ClassAuditFailed], [ClassStoreFailed].
//
// It waits at most GateWait for other calls, and at most GateWait for the gate. For an automatic holder it never closes the fence
// itself: the caller is a writer's request, and the close may wait until the kernel is done with that very request.
func (k *Keeper) Acquire(ctx context.Context, h Holder) (Grant, error) {
	return k.take(ctx, h, true)
}

// Steal is Acquire by rule 5 alone: a lease that this keeper's own holder lost by expiry must pass skew and grace, too.
func (k *Keeper) Steal(ctx context.Context, h Holder) (Grant, error) {
	return k.take(ctx, h, false)
}

// cutRounds bounds how often a taker begins anew after it has cut a host off: the head may change meanwhile.
const cutRounds = 3

func (k *Keeper) take(ctx context.Context, h Holder, resume bool) (Grant, error) {
	for round := 1; ; round++ {
		g, err := k.attempt(ctx, &taking{k: k, holder: h, resume: resume})
		u, first := errors.AsType[*uncut](err)
		if !first {
			return g, err
		}
		if round > cutRounds {
			return Grant{}, k.store.conflict(u.head, Judgement{State: Stealable, Reason: u.Error()})
		}
		if err := k.cuts.off(ctx, u, h); err != nil { // without op: an agent may need minutes
			return Grant{}, err
		}
	}
}

func (k *Keeper) attempt(ctx context.Context, tk *taking) (Grant, error) {
	h := tk.holder
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
		_ = k.lapse(nil) // what follows sees whether anybody holds now
	}
	if tk.passesOn() {
		if h.Auto {
			k.wake.poke()
			return Grant{}, k.store.busy(nil)
		}
		_ = k.lose(LossHolderGone, nil) // if the record cannot be written, look says so
	}
	if err := tk.overtaken(); err != nil {
		return Grant{}, err
	}
	if k.cur != nil {
		return tk.again()
	}
	if !tk.seenFree() {
		if err := tk.look(); err != nil {
			return Grant{}, err
		}
	}
	if err := tk.cutFirst(); err != nil {
		return Grant{}, err
	}
	k.cfg.Pause("acquire.before_gate")
	if err := k.gate.exclusive(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, tk.blame(err)
	}
	return tk.claim()
}

// passesOn is whether this holder may take the lease that is held here: the other holder has ended, and nobody has released it yet.
func (tk *taking) passesOn() bool {
	k, h := tk.k, tk.holder
	return k.cur != nil && k.following == nil && !k.cur.holder.Same(h) && k.cfg.Liveness(k.cur.holder) == Gone
}

// overtaken looks whether another host has taken the lease that is held here, and ends it then, so that the answer names
// who holds now. A writer's request only has Run end it (passesOn).
func (tk *taking) overtaken() error {
	k := tk.k
	if k.cur == nil || k.following != nil || !k.store.tier().looksAgain() {
		return nil
	}
	found, why := k.cur.claim.Over(false)
	switch {
	case !found:
		return nil
	case !tk.holder.Auto:
		_ = k.lose(k.cur.overtaken(), why) // gives nothing back, so it cannot fail
		return nil
	}
	k.wake.poke()
	head, j, err := k.cfg.Authority.Look()
	if err != nil || head.Record == nil {
		return k.store.busy(why)
	}
	return k.store.conflict(head, j)
}

// again answers Acquire while this keeper holds.
func (tk *taking) again() (Grant, error) {
	k, h, cur := tk.k, tk.holder, tk.k.cur
	turns := cur.holder.TurnsInto(h)
	if !cur.holder.Same(h) && !turns {
		return Grant{}, k.store.conflict(Head{Record: cur.claim.Record(), Token: cur.token()},
			Judgement{State: Held, Until: cur.claim.Record().LeaseExpiresAt, Reason: "its lease lasts"})
	}
	changed := (cur.holder.Auto && !h.Auto) || (h.Purpose != "" && !h.Auto && h.Purpose != cur.holder.Purpose)
	if changed {
		if h.Purpose != "" || cur.holder.Auto { // that of a lease taken by writing only says who wrote
			cur.holder.Purpose = record.Clip(h.Purpose, record.MaxText)
		}
		cur.holder.Auto = false
		if turns {
			cur.holder.Scope, cur.holder.ScopeKey = h.Scope, h.ScopeKey
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
	return k.grant(k.cur), nil
}

// Replace gives the lease old, held here, to h under the next token. No other keeper can come in between. Without an error old is
// released and h holds.
//
// After an error [Keeper.Held] says whether old is still held. It is held if Replace did not get the turn (rule 4): the class is
// [ClassFencingMismatch], or [ClassLockConflict] with a message about the turn. After it got the turn, old is over and nobody holds
// here. The record of old is then released, or must run out ([ClassStoreFailed]).
func (k *Keeper) Replace(ctx context.Context, old Token, h Holder) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if k.cur != nil && k.expired(k.cfg.Clock.Boot()) {
		_ = k.lapse(nil) // the next lines see whether anybody holds now
	}
	if k.cur == nil {
		return Grant{}, k.store.notHeld()
	}
	if k.cur.token() != old {
		return Grant{}, k.store.refuse(ClassFencingMismatch, fmt.Sprintf("token %d is held, not %d", k.cur.token(), old),
			"look again at who holds", k.cur.claim.Record(), nil)
	}
	// The turn comes first: while we have it, nobody else can take the gate when we drop LOCK_SH.
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
