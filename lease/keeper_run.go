package lease

import (
	"context"
	"time"
)

// Run renews, watches and expires the lease until ctx ends. Then it releases the lease and returns the error of that. If nothing was
// held the error is nil. Only one Run at a time.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		wait, err := k.turn(ctx)
		if err != nil {
			return k.finish()
		}
		wait = k.tell.WhenDue(ctx, wait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-k.wake:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return k.finish()
		}
	}
}

// finish is the end of Run. It has a context of its own: that of Run has ended.
func (k *Keeper) finish() error {
	err := k.Release(context.Background(), LossReleased)
	k.tell.All()
	if ClassOf(err) == ClassLockNotHeld {
		return nil
	}
	return err
}

// turn does one step. It returns how long nothing is due after that. The error is that of enter.
func (k *Keeper) turn(ctx context.Context) (time.Duration, error) {
	if err := k.enter(ctx, 0); err != nil {
		return 0, err
	}
	defer k.leave()
	k.step()
	k.tellAgain()
	return k.nextWake(), nil
}

// idleWake is how often a keeper that holds nothing looks. A new grant wakes it. Where flock proves nothing it watches the record all
// the time, so a takeover has a silence to show at once (rule 6).
func (k *Keeper) idleWake() time.Duration {
	if k.store.tier().watchesIdle() {
		return max(k.cfg.Tick, time.Second)
	}
	return time.Hour
}

// nextWake is the time to the next renewal, deadline or tick, or until late writes are to be told again.
func (k *Keeper) nextWake() time.Duration {
	return min(k.nextStep(), k.pending.wait(k.cfg.Clock.Boot()))
}

func (k *Keeper) nextStep() time.Duration {
	switch {
	case k.paused():
		return k.cfg.Tick
	case k.cur == nil:
		return k.idleWake()
	}
	now := k.cfg.Clock.Boot()
	wait := min(k.cfg.Tick, k.cur.renewAt-now, k.cur.deadline-k.cfg.Policy.CloseLead()-now)
	if k.sweeps() && k.swept.behind(k.cur.token()) > sweepBehind {
		wait = min(wait, sweepPause)
	}
	return max(wait, 0)
}

// step does what is due now. It returns no error: the fence and the audit were told of every loss.
func (k *Keeper) step() {
	h := k.cur
	if h == nil {
		if k.paused() {
			k.stepPaused()
		}
		if k.store.tier().watchesIdle() {
			k.Observe()
		}
		return
	}
	if k.following != nil {
		k.following.step(h)
		return
	}
	if k.expired(k.cfg.Clock.Boot()) {
		_ = k.lapse(nil)
		return
	}
	live := k.cfg.Liveness(h.holder)
	switch {
	case live == Gone:
		_ = k.lose(LossHolderGone, nil)
		return
	case h.open && h.holder.Auto && k.cfg.Idle(h.holder):
		_ = k.lose(LossIdle, nil)
		return
	}
	if found, why := h.claim.Over(false); found {
		_ = k.lose(h.overtaken(), why)
		return
	}
	k.stepRenew(h, live)
	if k.sweeps() {
		k.swept.sweep(k.store, h.token())
	}
}

func (k *Keeper) stepRenew(h *holding, live Liveness) {
	now := k.cfg.Clock.Boot()
	switch {
	case now < h.renewAt:
	case live == Stopped:
		h.renewAt = now + k.cfg.Tick
		if h.err == nil {
			h.err = k.store.refuse(ClassLockExpired, "the holder is stopped, so its lease is not renewed", "resume the holder", nil, nil)
		}
		k.pauseStopped(h, now)
	default:
		_ = k.renewOrClose()
	}
}

// sweeps is whether this keeper may sweep (rule 15). It holds the lease, on a file system of this kernel, so its LOCK_SH keeps out
// everybody who could link a claim. While the lease is offered it has no LOCK_SH.
func (k *Keeper) sweeps() bool {
	return k.cur != nil && k.cur.open && !k.cur.handing && k.following == nil && k.store.tier().sweeps()
}
