package succession

import (
	"context"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// What a daemon that is replaced does with the locks of other programs. In the first step it lets nothing in any more that
// rules cover, waits for what is in flight, and leaves its book to the new daemon. In the second step the door stays shut.
// Open files may be written still, until the new daemon calls their lock in (gate/tenure/handover.go).

// RuleHandover hands the locks of other programs over.
type RuleHandover struct {
	Door interface { // of the file system, for what rules cover
		ShutRules(ctx context.Context) error
		OpenRules()
		LeaveRules()
	}
	Book interface { // nil without rules
		Follow() error
		TakeBack()
		GiveUp(id string)
	}
	Tenures interface { // what the book leaves to the next daemon
		Leave() error
		Called(ctx context.Context, calls func(id string)) error
	}
	Tree interface{ LeaveRules() error } // keeps others away who have other rules
	Log  *zap.Logger

	left chan struct{} // closed when another daemon has the locks
}

// NewRuleHandover is for what h names.
func NewRuleHandover(h RuleHandover) *RuleHandover {
	h.left = make(chan struct{})
	return &h
}

// rulesWait bounds the wait for what is in flight. It is shorter than the new daemon waits.
const rulesWait = retireWait / 2

// lend is the first step.
func (d *RuleHandover) lend(ctx context.Context) error {
	if d.Book == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesWait)
	defer cancel()
	if err := d.Door.ShutRules(ctx); err != nil {
		return &api.Failure{Class: api.ClassBusy, Err: err, Message: "a change that rules cover is in flight, and has not ended", Next: "try again when it has"}
	}
	return d.Book.Follow()
}

// takeBack is the end of the first step if there is no second.
func (d *RuleHandover) takeBack() {
	if d.Book != nil {
		d.Book.TakeBack()
		d.Door.OpenRules()
	}
}

// leave is the second step.
func (d *RuleHandover) leave() {
	if err := d.Tree.LeaveRules(); err != nil {
		d.Log.Error("the rules of this daemon still keep others away", zap.Error(err))
	}
	if d.Book == nil {
		return
	}
	d.Door.LeaveRules()
	if err := d.Tenures.Leave(); err != nil {
		d.Log.Error("the tenures of rules stay with this daemon", zap.Error(err))
	}
	close(d.left)
}

// Run gives up what the new daemon calls in, until ctx ends.
func (d *RuleHandover) Run(ctx context.Context) {
	if d.Book == nil {
		return
	}
	select {
	case <-d.left:
	case <-ctx.Done():
		return
	}
	if err := d.Tenures.Called(ctx, d.Book.GiveUp); err != nil {
		d.Log.Error("locks that are called in are returned late", zap.Error(err))
	}
}
