package lease

import (
	"context"
	"time"
)

// Two keepers of one machine may stand for one lease at a time, under one token, while a daemon is being replaced: what was opened
// through the old one is still written through it. One of them leads: it renews, releases, and judges the holder. The other follows.
// Each has a fence, a deadline and a LOCK_SH of its own, and drains before it lets that go, so a taker, who needs LOCK_EX, has to wait
// for both (rule 4). The follower's deadline is never later than one that the leader has given its own fence (rule 8), and the
// follower never writes to the record.

// Lead tells a follower of the deadline that the leader's fence has for a token now; false when the leader has ended, or holds that
// token no longer. It is asked at each tick and must not block.
type Lead func(Token) (deadline time.Duration, goesOn bool)

// Stay is the lead of one who waits to be told: the deadline stays what it is.
func Stay(Token) (time.Duration, bool) { return 0, true }

// Follow makes this keeper a follower. Without a lease nothing happens, and ok is false. Before [Keeper.Resume] the caller must
// let nobody acquire, renew or release here.
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
		return Grant{}, false, k.store.busy(nil) // it may become another host's
	}
	k.following = &follower{k, lead}
	return k.cur.grant(), true, nil
}

// Resume makes this keeper the leader, if it still holds: it renews at once.
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

// Join opens the fence here, too, for a lease that a keeper of another process holds open and has noted as b: as a follower under
// [Stay]. It looks as [Keeper.Adopt] does, but under LOCK_SH, for the other's is no hindrance: both are one holder. With an error
// nothing has changed.
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
	h, err := a.restore() // under the lock: no taker comes in between
	if err == nil {
		if k.cur = h; !k.store.tier().followers() {
			err = k.store.refuse(ClassLockConflict, "other hosts may write the store, so the gate does not keep them waiting for two keepers",
				"try again when nobody holds the lease", h.claim.rec, nil)
		} else {
			err = a.stillCounts(h)
		}
	}
	if err != nil {
		if k.cur = nil; h != nil {
			h.claim.close()
		}
		k.gate.unlock()
		return Grant{}, err
	}
	h.open, k.following = true, &follower{k, Stay}
	g := h.grant()
	k.shown.set(&g)
	k.cfg.Fence.Open(g)
	k.wake.poke()
	return g, nil
}

// follower is a keeper whose lease another keeper leads.
type follower struct {
	k    *Keeper
	lead Lead
}

// step is what a follower does at each tick instead of a leader's step.
func (f *follower) step(h *holding) {
	k := f.k
	deadline, goesOn := f.lead(h.token())
	now := k.cfg.Clock.Boot()
	h.renewAt = now + k.cfg.Tick
	if deadline > h.deadline {
		h.deadline = deadline
		g := h.grant()
		k.shown.set(&g)
		k.cfg.Fence.Extend(g.Token, deadline)
	}
	switch found, _ := h.claim.successor(); {
	case found:
		k.part(LossSuperseded)
	case !goesOn || k.expired(now):
		k.part(LossReplaced)
	}
}

// Part ends this keeper's share of what it holds without a word in the record, as the end of its process would: whoever has
// what was saved may go on with the lease. Nothing happens without one.
func (k *Keeper) Part() {
	if k.enter(context.Background(), 0) != nil {
		return
	}
	defer k.leave()
	if k.cur != nil {
		k.part(LossReplaced)
	}
}

// part ends this keeper's share of a lease that another keeper leads: close and drain, then let LOCK_SH go (rule 9). The record is
// the leader's, and so is what the audit is told.
func (k *Keeper) part(kind LossKind) {
	h := k.cur
	k.shown.set(nil)
	k.cfg.Fence.Close(Loss{Kind: kind, Token: h.token(), Holder: h.holder})
	h.open, k.cur, k.following = false, nil, nil
	k.gate.unlock()
	h.claim.close()
}
