package lease

import (
	"context"
	"fmt"
	"time"
)

// lapse is what follows when the deadline of the lease has come. Its holder goes on where that is provable (rule 16): then the error
// is nil. Otherwise nobody holds here, and the error says why. The caller has op, and k.cur is not nil.
func (k *Keeper) lapse(why error) error {
	if !k.resumable(k.cur) {
		return k.expire(why)
	}
	r := resumption{k: k, old: k.cur}
	late := k.cfg.Clock.Boot() >= k.cur.deadline // this keeper was paused, too
	switch live := k.cfg.Liveness(k.cur.holder); {
	case live == Gone:
		return k.expire(why)
	case live == Stopped && (!late || k.cur.spared), k.cur.joined:
		return r.wait(why)
	default:
		return r.goOn(live == Stopped)
	}
}

// pauseStopped ends the epoch of a holder that is stopped, a little before its deadline: what it has stored through mappings is
// written back before, so nothing is missing if it goes on.
func (k *Keeper) pauseStopped(h *holding, now time.Duration) {
	if k.resumable(h) && now >= h.deadline-k.cfg.Policy.PauseLead() {
		_ = resumption{k: k, old: h}.wait(h.err)
	}
}

// resumable is whether the holder of h may go on after its deadline. The store must be of this kernel, and its fence must have had
// LOCK_SH without a break: a failed renewal and an offer drop it.
func (k *Keeper) resumable(h *holding) bool {
	return k.resumes() && k.following == nil && h.open && h.offer == nil && !h.handing && k.cfg.Resumes()
}

// resumes is whether any holder may (rule 16).
func (k *Keeper) resumes() bool { return k.store.tier().resumes() }

// resumption is one attempt to go on with a lease whose deadline has come (rule 16). It owns what was held.
type resumption struct {
	k   *Keeper
	old *holding
}

// goOn claims the next token for the same holder under the LOCK_SH that the old epoch has had all the time. So nobody can be between
// its second look and its view (rule 4), and the old epoch drains before the link. Nothing enters from the deadline until the fence
// opens again. If any of this fails, the lease is lost like any (rule 9).
//
// stopped: the holder is stopped still, and this keeper was paused, too. It goes on once, until the next deadline.
func (r resumption) goOn(stopped bool) error {
	k, old := r.k, r.old
	if err := k.gate.intact(); err != nil {
		return k.expire(err)
	}
	k.shown.set(nil)
	k.cfg.Pause("resume.before_close")
	k.cfg.Fence.Close(old.loss(LossResumed, nil))
	k.cfg.Pause("resume.closed")
	c, t0, err := r.claim()
	if err != nil {
		if found, by := old.claim.Over(true); found {
			_ = k.lose(LossSuperseded, by) // gives nothing back, so it cannot fail
			return by
		}
		return k.expire(err)
	}
	if err := r.open(c, t0, stopped); err != nil {
		return k.expire(err)
	}
	return nil
}

// claim makes the claim of the next token. On failure nothing of it is left. t0 is from before the record is written.
func (r resumption) claim() (c Tenure, t0 instant, err error) {
	k, old := r.k, r.old
	if _, err := unreleased(old.claim); err != nil { // it is the head still, and ours
		return nil, t0, err
	}
	t0 = readClocks(k.cfg.Clock)
	over := old.claim.Head()
	c, err = k.cfg.Authority.Claim(k.store.newRecord(k.cfg.Policy, old.holder, over, t0), over)
	if err != nil {
		return nil, t0, err
	}
	event := Event{Kind: EventResume, Token: c.Record().FencingToken, Previous: old.token(), Holder: old.holder, Reason: resumed(t0.boot - old.deadline)}
	if err := k.tell.Now(event); err != nil {
		c.Discard()
		return nil, t0, k.store.refuse(ClassAuditFailed, "that the holder goes on could not be audited, so it does not", "repair the audit log", nil, err)
	}
	k.cfg.Pause("resume.before_link")
	claiming(c.Record())
	won, err := c.Win(event)
	if err == nil && !won {
		err = (&taking{k: k}).beaten()
	}
	if err != nil {
		c.Discard()
		return nil, t0, err
	}
	claimed(c.Record())
	k.cfg.Pause("resume.after_link")
	return c, t0, nil
}

// open opens the fence under the new claim. On failure that is released, and the old one is held still.
func (r resumption) open(c Tenure, t0 instant, spared bool) error {
	k, old, p := r.k, r.old, r.k.cfg.Policy
	h := old.holder
	h.SessionID, h.Purpose = c.Record().SessionID, c.Record().Purpose
	next := &holding{claim: c, holder: h, base: t0, deadline: c.From(t0.boot) + p.Window(), renewAt: t0.boot + p.RenewAfter(), open: true,
		first: old.since(), spared: spared}
	err := c.Publish()
	if err == nil {
		_, err = c.Over(true) // a foreign view may have let somebody claim further up
	}
	now := k.cfg.Clock.Boot()
	if err == nil && now >= next.deadline-p.CloseLead() {
		err = k.store.refuse(ClassLockExpired, "going on with the lease took longer than it lasts", "acquire the lease again", nil, nil)
	}
	if err != nil {
		k.giveBack(c, Event{Kind: EventRelease, Token: next.token(), Previous: old.token(), Holder: h, Reason: err.Error()})
		return err
	}
	old.open, k.cur = false, next
	old.claim.Close()
	g := k.grant(next)
	k.shown.set(&g)
	k.cfg.Fence.Open(g)
	k.wake.poke()
	return nil
}

// resumed is the one sentence about a holder that goes on.
func resumed(late time.Duration) string {
	return fmt.Sprintf("the same holder goes on after a pause: its lease had ended %v before, and nobody had taken it", max(late, 0).Round(time.Millisecond))
}

// wait ends the epoch of a holder that is stopped while this keeper runs, and lets others take the lease. The holder goes on when it
// is resumed, unless somebody has.
func (r resumption) wait(why error) error {
	k, old := r.k, r.old
	err := k.store.refuse(ClassLockExpired, fmt.Sprintf("token %d was not renewed in time; its holder goes on by itself unless somebody takes the lease", old.token()),
		"resume the holder", old.claim.Record(), why)
	_ = k.lose(LossPaused, err) // gives nothing back, so it cannot fail
	return err
}

// stepPaused looks at a holder that waits to go on.
func (k *Keeper) stepPaused() {
	h := k.lapsed
	if found, by := h.claim.Over(false); found {
		k.endPause(LossSuperseded, by)
		return
	}
	switch k.cfg.Liveness(h.holder) {
	case Gone:
		k.endPause(LossExpired, nil)
	case Stopped:
	default:
		if !k.cfg.Resumes() {
			k.endPause(LossExpired, nil)
			return
		}
		tk := taking{k: k, holder: h.holder, resume: true, unasked: true}
		_ = tk.goOn() // the next look tries again, or sees why not
	}
}

// goOn takes the lease again for a holder that was stopped, under the next token, as any taker does (rules 2 and 4). That its own
// claim is the head under LOCK_EX proves that nobody has had the lease meanwhile.
func (tk *taking) goOn() error {
	k := tk.k
	if err := tk.look(); err != nil {
		return err
	}
	k.cfg.Pause("acquire.before_gate")
	if err := k.gate.exclusive(context.Background(), min(k.cfg.Tick, k.cfg.GateWait)); err != nil {
		return err
	}
	_, err := tk.claim()
	return err
}

// paused is whether the lease that is over here may go on by itself.
func (k *Keeper) paused() bool { return k.cur == nil && k.lapsed != nil && k.lapsed.paused }

// endPause makes the end of a lease whose holder is stopped a loss like any.
func (k *Keeper) endPause(kind LossKind, why error) {
	h := k.lapsed
	if h == nil || !h.paused {
		return
	}
	h.paused = false
	k.cfg.Fence.Close(h.loss(kind, why))
}

// loss is the end of what is held.
func (h *holding) loss(kind LossKind, why error) Loss {
	return Loss{Kind: kind, Token: h.token(), Since: h.since(), Holder: h.holder, Err: why}
}
