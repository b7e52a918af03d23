package lease

import (
	"context"
	"fmt"
	"time"
)

// Acquire takes the lease for h when it is free or may be stolen. If this keeper holds it for the same holder already, that
// grant is returned; a call on purpose (h.Auto false) makes it one on purpose, also for another scope of the process that an
// automatic one is bound to: the token stays, and what was opened under it. A lease of the same holder that expired here
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
		return Grant{}, k.fail(ClassStoreFailed, "the lease policy is invalid", "correct the policy", nil, err)
	}
	if k.cur != nil && k.expired(k.cfg.Clock.Boot()) {
		if h.Auto {
			k.poke()
			return Grant{}, k.busy(nil)
		}
		_ = k.expire(nil) // why is in what follows: nobody holds now
	}
	if k.passesOn(h) {
		if h.Auto {
			k.poke()
			return Grant{}, k.busy(nil)
		}
		_ = k.lose(LossHolderGone, nil) // where the record cannot be written, look says so
	}
	if k.cur != nil {
		return k.again(h)
	}
	tk := taking{k: k, holder: h, resume: resume}
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

// passesOn is whether the lease that is held here is for h to take: its holder has ended, and it is only to be given back.
func (k *Keeper) passesOn(h Holder) bool {
	return k.cur != nil && k.following == nil && !k.cur.holder.same(h) && k.cfg.Liveness(k.cur.holder) == Gone
}

// again is Acquire while this keeper holds.
func (k *Keeper) again(h Holder) (Grant, error) {
	cur := k.cur
	turns := cur.holder.turnsInto(h)
	if !cur.holder.same(h) && !turns {
		return Grant{}, k.conflict(Head{Record: cur.claim.rec, Token: cur.token()},
			Judgement{State: Held, Until: cur.claim.rec.LeaseExpiresAt, Reason: "its lease lasts"})
	}
	changed := (cur.holder.Auto && !h.Auto) || (h.Purpose != "" && !h.Auto && h.Purpose != cur.holder.Purpose)
	if changed {
		cur.holder.Auto = false
		if turns {
			cur.holder.Scope, cur.holder.ScopeKey = h.Scope, h.ScopeKey
		}
		if h.Purpose != "" {
			cur.holder.Purpose = clip(h.Purpose, maxText)
		}
	}
	if h.Auto && !cur.open {
		return Grant{}, k.busy(cur.err)
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
		return Grant{}, k.notHeld()
	}
	if k.cur.token() != old {
		return Grant{}, k.fail(ClassFencingMismatch, fmt.Sprintf("token %d is held, not %d", k.cur.token(), old),
			"look again at who holds", k.cur.claim.rec, nil)
	}
	// The turn first: with it nobody else can take the gate when we let LOCK_SH go.
	if err := k.gate.takeTurn(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	if err := k.loseKeeping(LossReleased, nil, true); err != nil {
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

// conflict says who stands in the way and until when.
func (k *Keeper) conflict(h Head, j Judgement) error {
	file := h.File
	who := "somebody"
	if h.Record != nil {
		who = printable(h.Record.HolderID)
		if h.Record.Purpose != "" {
			who += fmt.Sprintf(" (%q)", clip(h.Record.Purpose, 80))
		}
	}
	e := k.fail(ClassLockConflict, fmt.Sprintf("worktree %s is held by %s: %s", k.cfg.Store.id, who, j.Reason),
		"wait, or ask the holder to release it", h.Record, nil)
	if file != "" {
		e.File = file
	}
	if !j.Until.IsZero() {
		e.Message += fmt.Sprintf(", until %s unless it is renewed", j.Until.UTC().Format(time.RFC3339))
	}
	switch j.State {
	case Skewed:
		e.Class, e.Next = ClassClockSkewExceeded, "set the clocks of all hosts right, then try again; jvsfs doctor --strict shows them"
	case Expired:
		e.Next = "wait for skew and grace to pass, then try again"
	}
	return e
}

// newRecord is the record of the next token. in was sampled before anything of it is written.
func (k *Keeper) newRecord(h Holder, prev Head, in instant) *Record {
	p := k.cfg.Policy
	r := &Record{
		LockID: newUUID(), WorktreeID: k.cfg.Store.id, HolderID: clip(named(h.ID()), maxText),
		HolderNonce: newNonce(), SessionID: h.SessionID, AcquireSeq: 1,
		CreatedAt: in.wall.UTC(), LastRenewedAt: in.wall.UTC(), LeaseExpiresAt: in.wall.Add(p.LeaseDuration).UTC(),
		LeaseDurationMS: p.LeaseDuration.Milliseconds(), RenewIntervalMS: p.RenewInterval.Milliseconds(),
		MaxClockSkewMS: p.MaxClockSkew.Milliseconds(), StealGraceMS: p.StealGrace.Milliseconds(),
		FencingToken: prev.Token + 1, Scope: h.Scope, ScopeKey: clip(h.ScopeKey, maxText), HostBootID: h.BootID,
		PIDNamespace: h.PIDNamespace, Purpose: clip(h.Purpose, maxText), UID: h.UID, Auto: h.Auto,
	}
	if r.SessionID == "" {
		r.SessionID = newUUID()
	}
	if prev.Record != nil {
		r.AcquireSeq = nextCount(prev.Record.AcquireSeq)
	}
	return r
}
