package daemon

import (
	"context"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// What a daemon that is replaced does with the locks of other programs. In the first step it lets nothing in any more that
// rules cover, waits for what is in flight, and leaves its book to the new daemon. In the second step the door stays shut.
// Open files may be written still, until the new daemon calls their lock in (gate/tenure/handover.go).

// rulesWait bounds the wait for what is in flight. It is shorter than the new daemon waits.
const rulesWait = retireWait / 2

// lendRules is the first step.
func (d *succession) lendRules(ctx context.Context) error {
	if d.ruleLocks.Book() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesWait)
	defer cancel()
	if err := d.fs.ShutRules(ctx); err != nil {
		return &api.Failure{Class: api.ClassBusy, Err: err, Message: "a change that rules cover is in flight, and has not ended", Next: "try again when it has"}
	}
	return d.ruleLocks.Book().Follow()
}

// takeBackRules is the end of the first step if there is no second.
func (d *succession) takeBackRules() {
	if d.ruleLocks.Book() != nil {
		d.ruleLocks.Book().TakeBack()
		d.fs.OpenRules()
	}
}

// leaveRules is the second step.
func (d *succession) leaveRules() {
	if err := d.tree.LeaveRules(); err != nil {
		d.log.Error("the rules of this daemon still keep others away", zap.Error(err))
	}
	if d.ruleLocks.Book() == nil {
		return
	}
	d.fs.LeaveRules()
	if err := d.ruleLocks.Tenures().Leave(); err != nil {
		d.log.Error("the tenures of rules stay with this daemon", zap.Error(err))
	}
	close(d.rulesLeft)
}

// lend gives up what the new daemon calls in, until ctx ends.
func (d *succession) lend(ctx context.Context) {
	if d.ruleLocks.Book() == nil {
		return
	}
	select {
	case <-d.rulesLeft:
	case <-ctx.Done():
		return
	}
	if err := d.ruleLocks.Tenures().Called(ctx, d.ruleLocks.Book().GiveUp); err != nil {
		d.log.Error("locks that are called in are returned late", zap.Error(err))
	}
}
