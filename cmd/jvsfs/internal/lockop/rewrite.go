package lockop

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// rewrite does what was authorised to the claim of head, which an earlier command took and left.
func (l *Local) rewrite(ctx context.Context, op string, head lease.Head) (*lease.Record, error) {
	store, clock := l.dir.Store(l.place.ID), lease.SystemClock()
	if op == api.OpRenew {
		return store.RenewLeft(ctx, clock, l.policy, head)
	}
	rec, err := store.ReleaseLeft(ctx, clock, head)
	if err != nil {
		return nil, err
	}
	e := lease.Event{Kind: "release", Worktree: l.place.ID, Token: head.Token, Previous: head.Token, Holder: rec.Holder(), At: clock.Wall()}
	return rec, l.auditEvent(e)
}
