package lease

import (
	"context"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Release gives the lease back. kind says why: LossReleased, LossHolderGone or LossIdle; others count as LossReleased. The fence is
// closed and drained first. If this keeper holds nothing, the error is [ClassLockNotHeld] and nothing has changed. With
// [ClassStoreFailed] the fence is closed, but others must wait until the record has expired.
func (k *Keeper) Release(ctx context.Context, kind LossKind) error { return k.release(ctx, 0, kind) }

// ReleaseToken is Release of one lease. The caller has seen this lease; by now it may be over, and the next holder may have one.
func (k *Keeper) ReleaseToken(ctx context.Context, t Token, kind LossKind) error {
	return k.release(ctx, t, kind)
}

// release is Release of the lease with token t, or of any lease if t is 0.
func (k *Keeper) release(ctx context.Context, t Token, kind LossKind) error {
	if err := k.enter(ctx, 0); err != nil {
		return err
	}
	defer k.leave()
	if k.cur != nil && t != 0 && k.cur.token() != t { // it is over, and the next one has begun
		return k.store.notHeld()
	}
	if k.cur == nil {
		return k.store.notHeld()
	}
	if !kind.gives() {
		kind = LossReleased
	}
	return k.lose(kind, nil)
}

// markReleased releases a claim whose epoch has ended. If the claim is not ours any more, only the view is taken away.
func (c *claim) markReleased(now time.Time, pause func(string)) error {
	rec, err := c.check()
	if err != nil {
		if ClassOf(err) == ClassLockNotHeld {
			return c.withdraw(pause)
		}
		return err
	}
	return c.release(rec, now, pause)
}

// release marks the claim released and expired, and takes the view away (rule 11). rec was read from the claim.
func (c *claim) release(rec *record.Record, now time.Time, pause func(string)) error {
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
