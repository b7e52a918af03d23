package lockop

import (
	"context"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// renew renews the claim of head, which an earlier command took.
func (l *Local) renew(ctx context.Context, head lease.Head) (*record.Record, error) {
	return l.dir.Store(l.place.ID).RenewOrphan(ctx, lease.SystemClock(), l.terms.Policy, head)
}

// giveBack releases it.
func (l *Local) giveBack(ctx context.Context, head lease.Head) (*record.Record, error) {
	clock := lease.SystemClock()
	rec, err := l.dir.Store(l.place.ID).ReleaseOrphan(ctx, clock, head)
	if err != nil {
		return nil, err
	}
	e := lease.Event{Kind: lease.EventRelease, Worktree: l.place.ID, Token: head.Token, Previous: head.Token, Holder: rec.Holder(), At: clock.Wall()}
	return rec, l.auditEvent(e)
}
