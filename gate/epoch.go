package gate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// never is the deadline of an epoch without a lease.
const never = time.Duration(1<<63 - 1)

// epoch counts what is in flight under one grant. The order in enter is essential: count first,
// look afterwards. Then whoever stops the epoch sees the mutation in the count, or the mutation
// sees the stop.
type epoch struct {
	id       Epoch
	who      atomic.Pointer[lease.Holder]
	deadline atomic.Int64 // boot clock, nanoseconds
	inflight atomic.Int64
	last     atomic.Int64         // boot clock of the latest mutation
	handles  *atomic.Int64        // files open for writing under this epoch
	stopped  atomic.Pointer[stop] // nil while mutations may enter
	look     func() error         // asked after a mutation: was it too late? nil on stores of one kernel
	exit     *process.Watch       // of the holder's process; nil without a lease
	gone     chan struct{}        // closed when the epoch is over and the kernel's caches are dropped

	since   uint64      // the first token of its holder without anybody in between; covers
	resumes bool        // the holder may resume after the deadline; waitForResume
	unsaved bool        // stores through mappings were dropped
	inVain  atomic.Bool // somebody has waited for that in vain

	awaited atomic.Pointer[emptiness] // the latest drain
}

// emptiness is the moment that a drain waits for: nothing is in flight.
type emptiness struct {
	once sync.Once
	come chan struct{}
	next *emptiness // an earlier drain that may still wait
}

func newEpoch(id Epoch, h lease.Holder, deadline, now time.Duration) *epoch {
	e := &epoch{id: id, since: id.number, handles: new(atomic.Int64), gone: make(chan struct{})}
	e.who.Store(&h)
	e.deadline.Store(int64(deadline))
	e.last.Store(int64(now))
	return e
}

// holder returns the holder of the epoch.
func (e *epoch) holder() lease.Holder { return *e.who.Load() }

// enter counts a mutation in. If it returns true the mutation may go ahead, and leave must follow.
func (e *epoch) enter(clock lease.Clock) bool {
	e.inflight.Add(1)
	if e.stopped.Load() != nil {
		e.leave()
		return false
	}
	if d := e.deadline.Load(); d != int64(never) {
		now := int64(clock.Boot())
		if now >= d {
			e.leave()
			return false
		}
		e.last.Store(now)
	}
	return true
}

// leave ends a mutation. A zero that was counted before a drain began may be stale when the drain
// is seen: another mutation may have entered in between. So the last to leave reads the count once
// more.
func (e *epoch) leave() {
	if e.inflight.Add(-1) == 0 {
		e.mayBeEmpty()
	}
}

// mayBeEmpty is what the last to leave does, whatever has come since it left.
func (e *epoch) mayBeEmpty() {
	if a := e.awaited.Load(); a != nil && e.inflight.Load() == 0 {
		e.emptied(a)
	}
}

// emptied wakes the drain a, and those that began before it.
func (e *epoch) emptied(a *emptiness) {
	for at := a; at != nil; at = at.next {
		at.once.Do(func() { close(at.come) })
	}
	e.awaited.CompareAndSwap(a, nil)
}

// late says why a mutation that has just taken effect may have been too late. Ask before leave.
func (e *epoch) late(clock lease.Clock) error {
	if e.look == nil {
		return nil
	}
	if e.over(clock.Boot()) {
		return errDeadline
	}
	return e.look()
}

var errDeadline = errors.New("the lease's deadline passed meanwhile")

// overtakenBy reports whether the record shows that another mount or host has taken over, and the epoch does not know it
// yet. While it is being handed over, or ends, the next token may be from here.
func (e *epoch) overtakenBy(head lease.Head) bool {
	return e != nil && head.Record != nil && head.Token > e.id.Token() && e.id.Token() != 0 && e.stopped.Load() == nil
}

// end lets nothing in any more and returns when nothing is in flight.
func (e *epoch) end() {
	e.close()
	_ = e.drain(context.Background()) // which does not end
}

// close lets nothing in any more. It does not wait.
func (e *epoch) close() {
	if s := e.stopped.Swap(&stop{ended: true}); s != nil && !s.ended {
		close(s.decided)
	}
}

// isOver reports whether the epoch has ended for good.
func (e *epoch) isOver() bool {
	s := e.stopped.Load()
	return s != nil && s.ended
}

// drain returns when, at one moment since the call, nothing was in flight. Then everything that had
// entered before has left. drain itself keeps nobody out. The error is that of ctx.
func (e *epoch) drain(ctx context.Context) error {
	a := &emptiness{come: make(chan struct{}), next: e.awaited.Load()}
	for !e.awaited.CompareAndSwap(a.next, a) {
		a.next = e.awaited.Load()
	}
	if e.inflight.Load() == 0 {
		e.emptied(a)
		return nil
	}
	return wait.For(ctx, a.come)
}

// over reports whether the epoch's own deadline has passed.
func (e *epoch) over(now time.Duration) bool { return int64(now) >= e.deadline.Load() }
