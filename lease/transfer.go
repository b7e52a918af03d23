package lease

import (
	"context"
	"fmt"
)

// leaseTransfer is one attempt to give the lease away, by handover (rule 13) or offer (rule 14). It owns what the epoch was at its begin.
type leaseTransfer struct {
	k   *Keeper
	was uninterrupted
}

// uninterrupted is an epoch as it was seen. If it is still the same, no Close and no Open came in between, so the freeze lasts. (A
// failed renewal closes an epoch, and a later renewal opens it again under the same token, but not frozen.)
type uninterrupted struct {
	holding    *holding
	token      Token
	interrupts int
}

// give checks that the lease old can be given to h, before any writer has to wait.
func (k *Keeper) give(ctx context.Context, old Token, h Holder) (leaseTransfer, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return leaseTransfer{}, err
	}
	defer k.leave()
	g := leaseTransfer{k, uninterrupted{token: old}}
	if err := g.open(); err != nil {
		return leaseTransfer{}, err
	}
	if k.cur.holder.Same(h) {
		return leaseTransfer{}, k.store.refuse(ClassLockConflict, "it holds the lease already", "name somebody else", k.cur.claim.Record(), nil)
	}
	g.was.holding, g.was.interrupts = k.cur, k.cur.interrupts
	return g, nil
}

// open is an error unless the token is held and its epoch open. The caller has op.
func (g leaseTransfer) open() error {
	k, t := g.k, g.was.token
	switch {
	case k.cur == nil:
		return k.store.notHeld()
	case k.following != nil:
		return k.store.busy(nil) // the leader's to give
	case k.cur.token() != t:
		return k.store.refuse(ClassFencingMismatch, fmt.Sprintf("token %d is held, not %d", k.cur.token(), t),
			"look again at who holds", k.cur.claim.Record(), nil)
	case !k.cur.open || k.expired(k.cfg.Clock.Boot()):
		return k.store.refuse(ClassLockExpired, fmt.Sprintf("token %d is not being renewed", t), "look at jvsfs doctor", k.cur.claim.Record(), k.cur.err)
	}
	return nil
}

// freeze freezes the epoch and waits until it has drained. If the epoch is closed by then, thaw does nothing.
func (g leaseTransfer) freeze(ctx context.Context) (thaw func(), err error) {
	thaw, err = g.k.cfg.Fence.Freeze(ctx, g.was.token)
	if err != nil {
		return nil, g.k.store.refuse(ClassLockConflict, fmt.Sprintf("what is in flight under token %d did not end in time, so nothing has changed", g.was.token),
			"try again with a longer wait; jvsfs status --json counts what is in flight", nil, err)
	}
	return thaw, nil
}

// settle makes durable what was written. nil: there is nothing to do.
func (g leaseTransfer) settle(ctx context.Context, settle func(context.Context) error) error {
	if settle == nil {
		return nil
	}
	if err := settle(ctx); err != nil {
		return g.k.store.refuse(ClassLockConflict, "what was written could not be made durable in time, so nothing has changed",
			"look at the disk, then try again with a longer wait", nil, err)
	}
	return nil
}

// same is an error unless the epoch is still the one that was frozen. The caller has op.
func (g leaseTransfer) same() error {
	k := g.k
	if err := g.open(); err != nil {
		return err
	}
	if (uninterrupted{k.cur, g.was.token, k.cur.interrupts}) != g.was {
		return k.store.refuse(ClassLockExpired, "a renewal failed meanwhile, so the lease was not given away", "try again", k.cur.claim.Record(), nil)
	}
	return nil
}
