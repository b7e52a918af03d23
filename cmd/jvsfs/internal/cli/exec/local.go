package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

func (e *Command) local(t client.Target, terms lockop.Terms, c *child.Child) holding {
	return &localHolding{e: e, t: t, terms: terms, c: c, reason: make(chan string, 1)}
}

func (h *localHolding) held() HeldLease { return h.lease }

func (h *localHolding) lost() <-chan string { return h.reason }

func (h *localHolding) acquire(ctx context.Context) error {
	if h.join() {
		return nil
	}
	lock, err := lockop.OpenLocal(h.t.Place, h.terms)
	if err != nil {
		return err
	}
	h.lock = lock
	if err := lock.Claim(ctx); err != nil {
		return err
	}
	console.Note(h.e.IO)(fmt.Sprintf("no mount fences %s: the lease keeps those out who ask for it", h.t.Place.Root))
	req := lockop.Take{IfExpired: h.e.steal, Kept: true, Taking: api.Taking{
		Process: h.c.Bound.Process, Scope: h.e.scope, Purpose: h.e.Purpose, WaitMS: h.e.Wait.Milliseconds(),
	}}
	holder, err := lock.Holder(req)
	if err != nil {
		return err
	}
	h.keeper = lock.Keeper(reportingFence{h.reason}, holder)
	grant, err := lock.WaitFor(ctx, h.e.show.Note, h.keeper, req, holder)
	if err != nil {
		return err
	}
	h.lease = HeldLease{Worktree: h.t.Place.Root, holder: grant.Record.HolderID, Token: grant.Token}
	var run context.Context
	run, h.cancel = context.WithCancel(context.Background())
	h.ended = make(chan error, 1)
	go func() { h.ended <- h.keeper.Run(run) }()
	return nil
}

func (h *localHolding) release() error {
	var errs []error
	if h.cancel != nil {
		h.cancel()
		errs = append(errs, <-h.ended)
	}
	if h.keeper != nil {
		errs = append(errs, h.keeper.Close())
	}
	if h.lock != nil {
		errs = append(errs, h.lock.Close())
	}
	return errors.Join(errs...)
}

// reportingFence fences nothing. It reports the loss.
type reportingFence struct{ reason chan<- string }

func (reportingFence) Open(lease.Grant) {}

func (reportingFence) Extend(lease.Token, time.Duration) {}

// Freeze has nothing to freeze.
func (reportingFence) Freeze(context.Context, lease.Token) (func(), error) { return func() {}, nil }

// Close reports the first loss that ends the lease. If CMD alone was paused, that is one: what it
// has started is not, and nothing keeps it from writing when somebody else has the lease.
func (f reportingFence) Close(l lease.Loss) {
	switch l.Kind {
	case lease.LossRenewFailed, lease.LossResumed:
		return
	case lease.LossPaused:
		l.Kind = lease.LossExpired
	}
	select {
	case f.reason <- l.Kind.Name():
	default:
	}
}

// join is that without a mount, where nothing tells of the loss.
func (h *localHolding) join() bool {
	resp, err := lockop.PeekStatus(h.t.Place, h.terms.Policy, aboutUs(""))
	if err != nil {
		return false // taking it says why
	}
	st, ok := within(resp)
	if ok {
		h.lease = HeldLease{Worktree: h.t.Place.Root, holder: api.RecordOf(st.Record).HolderID, Token: st.Token, Joined: true}
	}
	return ok
}
