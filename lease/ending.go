package lease

import (
	"fmt"
	"time"
)

// ending is one loss of what is held (rule 9). It owns why the epoch closes, and whether LOCK_SH is kept.
type ending struct {
	k        *Keeper
	kind     LossKind
	why      error
	keepGate bool // the gate is left as it is, for a holder that goes straight on to the next claim
}

// lose ends the lease.
func (k *Keeper) lose(kind LossKind, why error) error {
	return ending{k: k, kind: kind, why: why}.end()
}

// end closes and drains, gives the record back if the kind says so, reports, and drops LOCK_SH, in this order.
func (e ending) end() error {
	k, h := e.k, e.k.cur
	if k.following != nil {
		k.part(LossReplaced) // the record is another's to give back
		return nil
	}
	k.shown.set(nil)
	k.cfg.Pause("lose.before_close")
	e.close(h)
	k.cfg.Pause("lose.after_close")
	h.open, k.cur = false, nil
	err := e.giveBack(h)
	if e.why == nil {
		e.why = err
	}
	e.report(h)
	if !e.keepGate {
		k.gate.unlock()
	}
	if e.kind == LossExpired || e.kind == LossPaused || err != nil {
		h.claim.Lapse()
		k.forgetLapsed()
		h.paused = e.kind == LossPaused
		k.lapsed = h // the record is ours still: the same holder may go on from it
		return err
	}
	h.claim.Close()
	return nil
}

// close returns when nothing of the epoch is in flight.
func (e ending) close(h *holding) {
	e.k.cfg.Fence.Close(h.loss(e.kind, e.why))
}

// giveBack marks the record released if the kind says so.
func (e ending) giveBack(h *holding) error {
	if !e.kind.gives() {
		return nil
	}
	if err := e.k.keeps(h.claim.Record()); err != nil {
		return err
	}
	err := h.claim.Release(Releasing{At: e.k.cfg.Clock.Wall(), Brief: e.unwaited(h), Event: e.event(h), Pause: e.k.cfg.Pause})
	if err == nil {
		e.k.swept.note(h.claim.Record())
	}
	return err
}

// unwaited is whether the release is not waited for on the disk: the holder took the lease by writing and has ended, and the next
// writer waits. If the machine fails before the disk has the release, everybody whom it concerns fails with it, for the file
// system is this kernel's alone. The record then runs out, as that of any holder does that such a failure ended.
func (e ending) unwaited(h *holding) bool {
	return e.kind == LossHolderGone && h.holder.Auto && e.k.store.tier().endsWithKernel()
}

// event is what the audit is told.
func (e ending) event(h *holding) Event {
	reason := e.kind.String()
	if e.why != nil {
		reason = e.why.Error()
	}
	return Event{Kind: e.kind.event(), Token: h.token(), Previous: h.token(), Holder: h.holder, Reason: reason}
}

// report tells the audit. Where the next writer waits, the event is told later.
func (e ending) report(h *holding) {
	event := e.event(h)
	if e.kind == LossHolderGone && h.holder.Auto {
		e.k.tell.Later(event)
		return
	}
	_ = e.k.tell.Now(event) // the loss stands, with its event or without
}

// interrupt closes the epoch but keeps the claim: a renewal before the deadline reopens it (rule 8).
func (e ending) interrupt() {
	k, h := e.k, e.k.cur
	h.renewAt = k.cfg.Clock.Boot() + k.cfg.Tick
	first := h.open
	h.open, h.err = false, e.why
	h.offer = nil
	h.interrupts++
	if !first {
		k.gate.unlock()
		return
	}
	k.shown.set(nil)
	e.close(h)
	e.report(h)
	k.gate.unlock()
}

// expired is whether the epoch must close now.
func (k *Keeper) expired(boot time.Duration) bool {
	return boot >= k.cur.deadline-k.cfg.Policy.CloseLead()
}

// expire ends the lease at its deadline and leaves the record as it is. It returns the reason. A lease that was offered may have
// been taken before.
func (k *Keeper) expire(why error) error {
	if k.cur.handing {
		if found, by := k.cur.claim.Over(true); found {
			_ = k.lose(LossHandedOver, by) // gives nothing back, so it cannot fail
			return by
		}
	}
	if why == nil {
		why = k.cur.err
	}
	err := k.store.refuse(ClassLockExpired, fmt.Sprintf("token %d was not renewed in time", k.cur.token()),
		"acquire the lease again", k.cur.claim.Record(), why)
	_ = k.lose(LossExpired, err) // gives nothing back, so it cannot fail
	return err
}
