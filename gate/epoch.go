package gate

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Epoch is a period in which one set of writers may write. Handles carry the
// epoch that they were opened in. Under a lease it is the fencing token; the
// periods in which a worktree may be written without one are numbered apart.
type Epoch uint64

const (
	// NoEpoch judges by the writer instead of a handle.
	NoEpoch Epoch = 0
	// leaseless marks epochs that rest on no lease.
	leaseless Epoch = 1 << 63
	// sharedEpoch is the one epoch of a worktree in mode shared; it never ends.
	sharedEpoch = leaseless | 1<<62
	// observedEpoch is given to what was only let through by Observing.
	observedEpoch = leaseless | 1<<61
	// ByPlace is the epoch of what was admitted for its place (Exempt). A handle of it
	// is judged by its file's place each time.
	ByPlace = leaseless | 1<<60
)

// Token returns the fencing token behind the epoch, 0 where there is none.
func (e Epoch) Token() lease.Token {
	if e&leaseless != 0 {
		return 0
	}
	return lease.Token(e)
}

// never is the deadline of an epoch that rests on no lease.
const never = time.Duration(1<<63 - 1)

// epoch counts what is in flight under one grant. The order in enter is the
// whole point: count first, look afterwards. Then end sees either the mutation
// in the count or the mutation sees the end.
type epoch struct {
	id       Epoch
	who      atomic.Pointer[lease.Holder]
	deadline atomic.Int64 // boot clock, nanoseconds
	inflight atomic.Int64
	last     atomic.Int64  // boot clock of the latest mutation
	handles  *atomic.Int64 // write handles opened in this epoch and not yet closed
	ended    atomic.Bool
	idle     chan struct{} // closed when ended and nothing is in flight
	look     func() error  // after a mutation: was it too late? nil where it cannot be
	once     sync.Once
}

func newEpoch(id Epoch, h lease.Holder, deadline, now time.Duration) *epoch {
	e := &epoch{id: id, handles: new(atomic.Int64), idle: make(chan struct{})}
	e.who.Store(&h)
	e.deadline.Store(int64(deadline))
	e.last.Store(int64(now))
	return e
}

// holder is whose epoch it is.
func (e *epoch) holder() lease.Holder { return *e.who.Load() }

// enter counts a mutation in. It reports whether the mutation may go ahead; if
// so leave must follow.
func (e *epoch) enter(clock lease.Clock) bool {
	if ok, judged := lateCount(e, clock); judged {
		return ok
	}
	e.inflight.Add(1)
	if e.ended.Load() {
		e.leave()
		return false
	}
	if d := e.deadline.Load(); d != int64(never) {
		now := int64(clock.Boot())
		if now >= d && !ruleOff("deadline") {
			e.leave()
			return false
		}
		e.last.Store(now)
	}
	return true
}

// leave ends a mutation. A zero that was counted before the end may be stale when
// the end is seen: another mutation may have entered in between. So the last to
// leave looks at the count once more; after the end it cannot rise for good.
func (e *epoch) leave() {
	if e.inflight.Add(-1) == 0 && e.ended.Load() && e.inflight.Load() == 0 {
		e.once.Do(func() { close(e.idle) })
	}
}

// late reports whether a mutation that has just taken effect may have been too
// late. It is asked before leave.
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

// end lets nothing in any more and returns when nothing is in flight.
func (e *epoch) end() {
	e.ended.Store(true)
	if e.inflight.Load() == 0 {
		e.once.Do(func() { close(e.idle) })
	}
	if ruleOff("drain") {
		return
	}
	<-e.idle
}

// over reports whether the epoch's own deadline has passed.
func (e *epoch) over(now time.Duration) bool { return int64(now) >= e.deadline.Load() }
