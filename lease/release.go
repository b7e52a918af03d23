package lease

import (
	"context"
	"fmt"
	"time"
)

// Release gives the lease back for the reason kind (LossReleased, LossHolderGone or LossIdle; others count as LossReleased).
// The fence is closed and drained first. [ClassLockNotHeld], and nothing changed, when this keeper holds nothing. With
// [ClassStoreFailed] the fence is closed but others must wait for the record to expire.
func (k *Keeper) Release(ctx context.Context, kind LossKind) error { return k.release(ctx, 0, kind) }

// ReleaseToken is Release of one lease: who asks for it has seen that one, and it may be over, and the next holder's in its place.
func (k *Keeper) ReleaseToken(ctx context.Context, t Token, kind LossKind) error {
	return k.release(ctx, t, kind)
}

// release is Release; t is the lease that is meant, 0 for whichever is held.
func (k *Keeper) release(ctx context.Context, t Token, kind LossKind) error {
	if err := k.enter(ctx, 0); err != nil {
		return err
	}
	defer k.leave()
	if k.cur != nil && t != 0 && k.cur.token() != t { // it is over, and the next one's has begun
		return k.notHeld()
	}
	if k.cur == nil {
		return k.notHeld()
	}
	if !kind.gives() {
		kind = LossReleased
	}
	return k.lose(kind, nil)
}

// lose ends the lease (rule 9): close and drain, give the record back if the kind says so, report, drop LOCK_SH.
func (k *Keeper) lose(kind LossKind, why error) error { return k.loseKeeping(kind, why, false) }

// loseKeeping is lose; keepGate leaves the gate as it is, for a holder that goes straight on to the next claim.
func (k *Keeper) loseKeeping(kind LossKind, why error, keepGate bool) error {
	if k.following != nil {
		k.part(LossReplaced) // the record is another's to give back
		return nil
	}
	h := k.cur
	k.show(nil)
	k.cfg.Pause("lose.before_close")
	k.cfg.Fence.Close(Loss{Kind: kind, Token: h.token(), Holder: h.holder, Err: why})
	k.cfg.Pause("lose.after_close")
	h.open, k.cur = false, nil
	var err error
	if kind.gives() {
		h.claim.brief = k.partFrom(kind, h)
		if err = k.markReleased(h.claim); err == nil {
			k.swept.note(h.claim.rec)
		}
	}
	k.report(kind, h, why)
	if !keepGate {
		k.gate.unlock()
	}
	if kind == LossExpired || err != nil {
		k.forgetLapsed()
		k.lapsed = h // the record is ours still: the same holder may go on from it
		return err
	}
	h.claim.close()
	return nil
}

// interrupt closes the epoch but keeps the claim: a renewal before the deadline reopens it (rule 8).
func (k *Keeper) interrupt(why error) {
	h := k.cur
	h.renewAt = k.cfg.Clock.Boot() + k.cfg.Tick
	first := h.open
	h.open, h.err = false, why
	h.offer = nil
	h.interrupts++
	if !first {
		k.gate.unlock()
		return
	}
	k.show(nil)
	k.cfg.Fence.Close(Loss{Kind: LossRenewFailed, Token: h.token(), Holder: h.holder, Err: why})
	k.report(LossRenewFailed, h, why)
	k.gate.unlock()
}

// expired is whether the epoch must close now.
func (k *Keeper) expired(boot time.Duration) bool {
	return boot >= k.cur.deadline-k.cfg.Policy.closeLead()
}

// expire ends the lease at its deadline and leaves the record as it is. It returns the reason. One that was offered may have been
// taken before.
func (k *Keeper) expire(why error) error {
	if k.cur.handing {
		if found, by := k.cur.claim.successorAnywhere(); found {
			_ = k.lose(LossHandedOver, by) // gives nothing back, so it cannot fail
			return by
		}
	}
	if why == nil {
		why = k.cur.err
	}
	err := k.fail(ClassLockExpired, fmt.Sprintf("token %d was not renewed in time", k.cur.token()),
		"acquire the lease again", k.cur.claim.rec, why)
	_ = k.lose(LossExpired, err) // gives nothing back, so it cannot fail
	return err
}

// partFrom is whether nobody waits for the end of a lease to be durable: its holder took it by writing and has ended, and the next
// writer stands at the door. Should the machine fail before the disk has it, so do all whom it concerns, for the file system is this
// kernel's alone; the record then runs out like that of any holder whom the failure ended.
func (k *Keeper) partFrom(kind LossKind, h *holding) bool {
	return kind == LossHolderGone && h.holder.Auto && k.tier().endsWithKernel()
}

func (k *Keeper) report(kind LossKind, h *holding, why error) {
	reason := kind.String()
	if why != nil {
		reason = why.Error()
	}
	e := Event{Kind: kind.event(), Token: h.token(), Previous: h.token(), Holder: h.holder, Reason: reason}
	if kind == LossHolderGone && h.holder.Auto {
		k.note(e)
		return
	}
	_ = k.audit(e) // the loss stands, with its event or without
}

// markReleased is release of a claim that this keeper has ended with; nothing of it may be left to mark.
func (k *Keeper) markReleased(c *claim) error {
	rec, err := c.check()
	if err != nil {
		if ClassOf(err) == ClassLockNotHeld {
			return c.withdraw(k.cfg.Pause)
		}
		return err
	}
	return c.release(rec, k.cfg.Clock.Wall(), k.cfg.Pause)
}

// release marks the own claim, read as rec, released and expired, and takes the view away (rule 11).
func (c *claim) release(rec *Record, now time.Time, pause func(string)) error {
	rec.Released = true
	if now.Before(rec.LeaseExpiresAt) {
		rec.LeaseExpiresAt = now.UTC()
	}
	pause("release.before_write")
	if err := c.rewrite(rec); err != nil {
		return err
	}
	pause("release.before_withdraw")
	return c.withdraw(pause)
}
