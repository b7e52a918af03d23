package gate

import (
	"context"
	"errors"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// acquireWait bounds how long a writer waits while AcquireOnFree takes a lease for it. The store
// answers in milliseconds; a store that hangs must not hang editors.
const acquireWait = 5 * time.Second

func (g *Guard) autoScope() Scope {
	if g.cfg.Scope == ScopeDefault {
		return ScopeSession
	}
	return g.cfg.Scope
}

// acquireFor takes the lease for the writer's session (or for the configured scope). It stops
// waiting when the guard begins to close: a request must not wait for a close that waits for
// requests.
//
// after is the epoch of a holder that has ended, or nil. It has to close first, so acquireFor waits
// for that. This is safe: nothing of such a holder is in flight that could wait for this request.
func (g *Guard) acquireFor(r Request, id process.Identity, after *epoch) *Refusal {
	h, err := g.cfg.Resolver.autoHolder(id, g.autoScope())
	if err != nil {
		return g.refusal(r.Op, reasonNobody, nil)
	}
	h.Purpose = g.origin(r, id)
	if g.waitForEnd(after, r); r.Killed() { // a lease for a dead caller would keep others waiting
		return g.refusal(r.Op, reasonClosing, nil)
	}
	g.mu.Lock()
	turn := g.turn
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(turn, acquireWait)
	defer cancel()
	end, ok := g.cfg.Enforcement.Begin(r.waiter(), cancel)
	if !ok {
		return g.refusal(r.Op, reasonClosing, nil)
	}
	defer end()
	if _, err = g.keeper.Acquire(ctx, h); err == nil {
		return nil
	}
	no := g.refusal(r.Op, reasonOf(err), nil)
	if no.Reason == reasonStore {
		no.err = err
	}
	var le *lease.Error
	if errors.As(err, &le) && le.Holder != nil {
		no.Holder, no.Token = le.Holder.Holder(), le.Holder.FencingToken
	}
	return no
}

func reasonOf(err error) Reason {
	switch lease.ClassOf(err) {
	case lease.ClassLockConflict, lease.ClassLockExpired:
		return reasonHeldElsewhere
	case lease.ClassClockSkewExceeded:
		return reasonSkewed
	case lease.ClassRecordUnreadable:
		return reasonUnreadable
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return reasonClosing
	}
	return reasonStore
}
