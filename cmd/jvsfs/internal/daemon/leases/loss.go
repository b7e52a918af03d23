package leases

import (
	"context"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// How often AwaitLoss looks at a deadline, and how long it leaves the word to the keeper, which knows better why.
const (
	lossTick  = 100 * time.Millisecond
	lossGrace = 200 * time.Millisecond
)

// AwaitLoss waits for the end of a lease. It returns "" if the client hangs up first. A failed renewal is not
// the end: the next one may still be in time. Neither is a pause: the holder may go on, under a later token.
//
// The keeper tells of a loss after it has closed and drained, and it may be waiting for the store. A lease that cannot go on after its
// deadline is over at its deadline, whatever the keeper waits for: its fence lets nothing pass any more. So that is told then.
func (w *Worktree) AwaitLoss(ctx context.Context, grant lease.Grant, losses <-chan lease.Loss) string {
	token := grant.Token
	var passed <-chan time.Time
	if !grant.Resumes {
		tick := time.NewTicker(lossTick)
		defer tick.Stop()
		passed = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-passed:
			if g, held := w.Keeper.Held(); held && g.Covers(token) {
				grant = g
			}
			if lease.SystemClock().Boot() > grant.Deadline+lossGrace {
				return lease.LossExpired.Name()
			}
		case l := <-losses:
			if l.Covers(token) && l.Kind.Final() {
				return l.Kind.Name()
			}
		}
	}
}
