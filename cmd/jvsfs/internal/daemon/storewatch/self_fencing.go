package storewatch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/lease"
)

// What hangs in the store's client of this host beyond the deadline of its lease could reach the store when somebody else holds it. With
// fence_self this host then ends its own connection to the store: who hangs gets an error, and what the kernel has not yet given to
// the client never gets there. What the client had read before may still be sent; only a fence agent on the other side ends that.

// SelfFencing ends this host's connection to the store. nil does nothing.
type SelfFencing struct {
	abort *os.File
	log   *zap.Logger
}

// OpenSelfFencing opens what ends the connection to the store, before anything hangs. source is an open directory of it, and root its name.
func OpenSelfFencing(source int, root string, log *zap.Logger) (*SelfFencing, error) {
	abort, err := fusefs.OpenStoreAbort(source)
	if err != nil {
		return nil, &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("fence_self cannot end this host's connection to %s: %v", root, err), Err: err,
			Next: "leave fence_self out, or mount the store by its FUSE client"}
	}
	return &SelfFencing{abort: abort, log: log}, nil
}

// Close gives up what ends the connection.
func (s *SelfFencing) Close() error {
	if s == nil {
		return nil
	}
	return s.abort.Close()
}

// Fenced is a fence that cuts this host off at the deadline, or inner if that is not wanted.
func (s *SelfFencing) Fenced(inner lease.Fence, id lease.WorktreeID, inFlight func() int64) lease.Fence {
	if s == nil {
		return inner
	}
	return &cutAtDeadline{Fence: inner, clock: lease.SystemClock(), inFlight: inFlight, after: time.AfterFunc, cut: func(t lease.Token, n int64) {
		_, err := s.abort.WriteString("1")
		if errors.Is(err, os.ErrClosed) {
			return // the mount has ended
		}
		s.log.Error("writes hung beyond the lease's deadline, so this host has ended its connection to the store (fence_self): unmount, mount the store again, and mount again",
			zap.String("worktree", string(id)), zap.Uint64("token", uint64(t)), zap.Int64("in_flight", n), zap.Error(err))
	}}
}

// cutAtDeadline looks at the deadline whether anything is in flight, whatever the keeper does then: it may hang as well. Nothing enters after
// the deadline. Close ends that, once what was in flight has drained. Safe for concurrent use.
type cutAtDeadline struct {
	lease.Fence
	clock    lease.Clock
	inFlight func() int64
	after    func(time.Duration, func()) *time.Timer
	cut      func(t lease.Token, inFlight int64)

	mu       sync.Mutex
	open     bool
	token    lease.Token
	deadline time.Duration
	timer    *time.Timer
}

// longestTimer is how long a timer may run at most: timers stop in suspend, and the deadline does not.
const longestTimer = time.Second

// Open opens the inner fence until g.Deadline.
func (f *cutAtDeadline) Open(g lease.Grant) {
	f.watch(g.Token, g.Deadline)
	f.Fence.Open(g)
}

// Extend moves the deadline.
func (f *cutAtDeadline) Extend(t lease.Token, deadline time.Duration) {
	f.Fence.Extend(t, deadline)
	f.watch(t, deadline)
}

// Close closes the inner fence. As long as that drains, the deadline counts.
func (f *cutAtDeadline) Close(l lease.Loss) {
	f.Fence.Close(l)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
	if f.timer != nil {
		f.timer.Stop()
	}
}

func (f *cutAtDeadline) watch(t lease.Token, deadline time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token, f.deadline = t, deadline
	if !f.open {
		f.open = true
		f.arm()
	}
}

// arm sets the timer. f.mu is locked.
func (f *cutAtDeadline) arm() {
	f.timer = f.after(min(f.deadline-f.clock.Boot(), longestTimer), f.look)
}

func (f *cutAtDeadline) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		return
	}
	if f.clock.Boot() < f.deadline {
		f.arm()
		return
	}
	f.open = false // once for each deadline; a renewal that comes after all opens it again
	if n := f.inFlight(); n > 0 {
		f.cut(f.token, n)
	}
}
