package lease

import (
	"context"
	"time"
)

// While a daemon is being replaced, two keepers of one machine have one lease under one token: files that were opened through the old
// daemon are still written through it. One keeper leads: it renews, releases, and judges the holder. The other follows. Each has a
// fence, a deadline and a LOCK_SH of its own, and drains before it drops its LOCK_SH. So a taker, who needs LOCK_EX, waits for both
// (rule 4). The follower's deadline is never later than that of the leader's fence (rule 8). The follower never writes the record.

// Lead returns the deadline that the leader's fence has for a token now. goesOn is false if the leader has ended, or does not hold
// that token any more. It is called at each tick and must not block.
type Lead func(Token) (deadline time.Duration, goesOn bool)

// Stay is a Lead that never moves the deadline.
func Stay(Token) (time.Duration, bool) { return 0, true }

// Follow makes this keeper a follower. If it holds no lease, nothing happens and ok is false. Until [Keeper.Resume] the caller must let
// nobody acquire, renew or release here.
func (k *Keeper) Follow(ctx context.Context, lead Lead) (g Grant, ok bool, err error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, false, err
	}
	defer k.leave()
	switch {
	case k.cur == nil:
		return Grant{}, false, nil
	case !k.cur.open:
		return Grant{}, false, k.store.busy(k.cur.err)
	case k.cur.offer != nil || k.cur.handing:
		return Grant{}, false, k.store.busy(nil) // another host may take it
	}
	k.following, k.cur.joined = &follower{k, lead}, true
	return k.grant(k.cur), true, nil
}

// Resume makes this keeper the leader. If it still holds, it renews at once.
func (k *Keeper) Resume() {
	if k.enter(context.Background(), 0) != nil {
		return
	}
	defer k.leave()
	if k.following = nil; k.cur != nil {
		k.cur.renewAt = k.cfg.Clock.Boot()
	}
	k.wake.poke()
}

// Join makes this keeper a follower, under [Stay], of a lease that a keeper of another process holds and has noted as b. It opens the
// fence here, too. It looks as [Keeper.Adopt] does, but under LOCK_SH, which both keepers can have. With an error nothing has changed.
func (k *Keeper) Join(ctx context.Context, b Saved) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if k.cur != nil {
		return Grant{}, k.store.busy(nil)
	}
	if err := k.gate.sharedWithin(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	a := adoption{k, b}
	h, err := a.restore() // under the lock, so no taker comes in between
	if err == nil {
		if k.cur = h; !k.store.tier().followers() {
			err = k.store.refuse(ClassLockConflict, "other hosts may write the store, so the gate does not keep them waiting for two keepers",
				"try again when nobody holds the lease", h.claim.Record(), nil)
		} else {
			err = a.stillCounts(h)
		}
	}
	if err != nil {
		if k.cur = nil; h != nil {
			h.claim.Close()
		}
		k.gate.unlock()
		return Grant{}, err
	}
	h.open, h.joined, k.following = true, true, &follower{k, Stay}
	g := k.grant(h)
	k.shown.set(&g)
	k.cfg.Fence.Open(g)
	k.wake.poke()
	return g, nil
}

// follower is the part of a keeper that follows another keeper.
type follower struct {
	k    *Keeper
	lead Lead
}

// step is what a follower does at each tick, instead of Keeper.step.
func (f *follower) step(h *holding) {
	k := f.k
	deadline, goesOn := f.lead(h.token())
	now := k.cfg.Clock.Boot()
	h.renewAt = now + k.cfg.Tick
	if deadline > h.deadline {
		h.deadline = deadline
		g := k.grant(h)
		k.shown.set(&g)
		k.cfg.Fence.Extend(g.Token, deadline)
	}
	switch found, _ := h.claim.Over(false); {
	case found:
		k.part(LossSuperseded)
	case !goesOn || k.expired(now):
		k.part(LossReplaced)
	}
}

// Part ends this keeper's share of the lease and writes nothing to the record, as if its process had ended. Another keeper may then go
// on with the lease by [Keeper.Adopt]. If nothing is held, nothing happens.
func (k *Keeper) Part() {
	if k.enter(context.Background(), 0) != nil {
		return
	}
	defer k.leave()
	if k.cur != nil {
		k.part(LossReplaced)
	}
}

// part ends this keeper's share of a lease: it closes and drains, then drops LOCK_SH (rule 9). The record and the audit are the
// leader's.
func (k *Keeper) part(kind LossKind) {
	h := k.cur
	k.shown.set(nil)
	k.cfg.Fence.Close(h.loss(kind, nil))
	h.open, k.cur, k.following = false, nil, nil
	k.gate.unlock()
	h.claim.Close()
}
