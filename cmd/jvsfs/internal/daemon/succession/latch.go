package succession

import (
	"context"
	"sync"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// latch is the state of being replaced. Safe for concurrent use.
type latch struct {
	mu        sync.Mutex
	by        *api.Device // the new mount, nil while there is none
	successor host.ProcessState
	done      chan struct{} // closed at the second step

	inside int           // requests that change what the new daemon is told of
	left   chan struct{} // closed when the last of them has ended; nil: nobody waits for that
}

// retireWait bounds the wait for requests that were admitted before. It is shorter than the new daemon waits.
const retireWait = api.AnswerTimeout / 2

// enter admits a request that changes leases or the mode, unless the daemon is being replaced: its effect would
// be lost with this daemon. leave must follow.
func (r *latch) enter() (leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil {
		return nil, false
	}
	r.inside++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.inside--; r.inside == 0 && r.left != nil {
			close(r.left)
			r.left = nil
		}
	}, true
}

// alone waits until every admitted request has ended, so that the new daemon learns of its effect. No request
// enters meanwhile.
func (r *latch) alone(ctx context.Context) error {
	r.mu.Lock()
	if r.inside == 0 {
		r.mu.Unlock()
		return nil
	}
	left := make(chan struct{})
	r.left = left
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, retireWait)
	defer cancel()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return &api.Failure{Class: api.ClassBusy, Message: "the mode is just being switched, or a lease given back or away, which has not ended", Next: "try again when it has"}
	}
}

// begin is the first step. It fails if another replacement has begun.
func (r *latch) begin(by api.Device, successor host.ProcessState) (done <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil {
		return nil, &api.Failure{Class: api.ClassBusy, Message: "the mount is being replaced already", Next: "jvsfs status"}
	}
	r.by, r.successor, r.done = &by, successor, make(chan struct{})
	return r.done, nil
}

// finish is the second step, of the same replacement.
func (r *latch) finish(by api.Device) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil || *r.by != by {
		return false
	}
	select {
	case <-r.done:
	default:
		close(r.done)
	}
	return true
}

func (r *latch) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by = nil
}

func (r *latch) underWay() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by != nil
}
