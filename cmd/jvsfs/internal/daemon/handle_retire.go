package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// A daemon that is replaced (jvsfs mount --replace) retires in two steps. The new daemon requests them over the
// control socket. After the first step this daemon no longer renews its leases, gives none back and takes no
// new ones; it tells what it holds. After the second step the new mount is in the place of this one. Files that
// are open here stay here, under the lead of the new daemon. When the last of them is closed, the kernel ends
// the mount, and this process ends. If the connection ends between the two steps, and the new daemon with it,
// this daemon continues as before.

// retirement is the state of being replaced. Safe for concurrent use.
type retirement struct {
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
func (r *retirement) enter() (leave func(), ok bool) {
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
func (r *retirement) alone(ctx context.Context) error {
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
func (r *retirement) begin(by api.Device, successor host.ProcessState) (done <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil {
		return nil, &api.Failure{Class: api.ClassBusy, Message: "the mount is being replaced already", Next: "jvsfs status"}
	}
	r.by, r.successor, r.done = &by, successor, make(chan struct{})
	return r.done, nil
}

// finish is the second step, of the same replacement.
func (r *retirement) finish(by api.Device) bool {
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

func (r *retirement) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by = nil
}

func (r *retirement) underWay() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by != nil
}

// letIn is enter for a request. A request that came before the latch was shut learns why it is shut.
func (d *succession) letIn(what control.Change) (leave func(), err error) {
	if what == control.ChangesNothing {
		return func() {}, nil
	}
	leave, ok := d.retirement.enter()
	if !ok {
		return nil, errReplaced()
	}
	if what == control.WaitsLong {
		leave()
		return func() {}, nil
	}
	return leave, nil
}

// shutBehind words the answer to a request that entered while the latch was being shut.
func (d *succession) shutBehind(err error) error {
	if errors.Is(err, errClosing) && d.retirement.underWay() {
		return errReplaced()
	}
	return closing(err)
}

func errReplaced() *api.Failure {
	return &api.Failure{Class: api.ClassBusy, Message: "the daemon of the mount is just being replaced", Next: "try again"}
}

// answerRetired is the second step.
func (d *succession) answerRetired(req api.Retired) (api.Response, error) {
	by, err := api.ParseDevice(req.Device)
	if err != nil {
		return api.Response{}, api.Usagef("%v", err)
	}
	if !d.retirement.finish(by) {
		return api.Response{}, api.Usagef("this daemon is not being replaced by %s", by)
	}
	return api.Response{}, nil
}

// answerRetire is the first step, and the wait for the second.
func (d *succession) answerRetire(ctx context.Context, s *control.Session, req api.Retire) (api.Response, error) {
	by, err := api.ParseDevice(req.Device)
	if err != nil {
		return api.Response{}, api.Usagef("%v", err)
	}
	st, err := host.ReadMountState(by)
	if err != nil {
		return api.Response{}, err
	}
	if st.Daemon.Liveness() != lease.Alive {
		return api.Response{}, api.Usagef("the daemon of %s does not run, or in a pid namespace that cannot be seen from here", by)
	}
	done, err := d.retirement.begin(by, st.Daemon)
	if err != nil {
		return api.Response{}, err
	}
	if err := d.retirement.alone(ctx); err != nil {
		d.retirement.cancel()
		return api.Response{}, err
	}
	return d.retire(ctx, s, by, st.Daemon, done)
}

// retire answers with the leases that are held. Then it waits for the second step, or for the end of the new
// daemon.
func (d *succession) retire(ctx context.Context, s *control.Session, by api.Device, successor host.ProcessState, done <-chan struct{}) (api.Response, error) {
	d.registry.shutLatches(true)
	for _, w := range d.registry.all() {
		w.guard.BreakWindow(errors.New("the daemon is being replaced"))
	}
	d.journal.End() // the successor removes the file
	var left journal.File
	err := d.lendRules(ctx)
	if err == nil {
		left, err = d.follow(ctx, by, successor, done)
	}
	if err == nil {
		var resp api.Response
		if resp, err = api.ResultOf(left); err == nil {
			resp.Event = api.EventResult
			err = s.Send(resp)
		}
	}
	if err != nil {
		d.stay()
		return api.Response{}, err
	}
	d.log.Info("being replaced", zap.Stringer("by", by), zap.Int("pid", successor.PID))
	select {
	case <-done:
	case <-ctx.Done():
		if !d.outlives(by, successor, done) {
			break
		}
		d.stay()
		return api.Response{}, errors.New("the new daemon has not come up: this one continues")
	}
	d.leaveToSuccessor()
	return api.Response{}, control.ErrWatched
}

// follow makes the keepers follow the successor, and collects what they hold.
func (d *succession) follow(ctx context.Context, by api.Device, successor host.ProcessState, done <-chan struct{}) (journal.File, error) {
	left := journal.File{Version: host.StateVersion, Held: map[lease.WorktreeID]lease.Saved{}}
	var err error
	left.Daemon, err = host.ThisProcess()
	for _, w := range d.registry.all() {
		g, held, e := w.keeper.Follow(ctx, leadOf(left.Daemon, by, w.id, successor, done))
		if err = errors.Join(err, e); held {
			w.guard.Overlap(true)
			left.Held[w.id] = lease.Save(g, lease.SystemClock())
		}
	}
	now := d.journal.Entries()
	left.Revoked, left.Instead = now.Revoked, now.Instead // also holders who have lost it until now
	return left, err
}

// leadOf reads the successor's note about a lease. The successor notes a deadline after its own fence has it. A
// successor that has ended leads nobody; one that was replaced in its turn has left that to its own. If it has not begun yet, this daemon
// waits.
func leadOf(who host.ProcessState, by api.Device, id lease.WorktreeID, successor host.ProcessState, done <-chan struct{}) lease.Lead {
	return func(t lease.Token) (time.Duration, bool) {
		select {
		case <-done:
		default:
			return lease.Stay(t)
		}
		b := journal.LedBy(who, by, successor).Held[id]
		return b.Deadline, b.Token == t
	}
}

// outlives waits after the successor's connection has ended. It is true if the successor ends, too, and false
// if it has taken the place after all, even if it did not say so.
func (d *succession) outlives(by api.Device, successor host.ProcessState, done <-chan struct{}) bool {
	for successor.Liveness() != lease.Gone && !d.detached() {
		select {
		case <-done:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		if d.registry.ended() { // told to end meanwhile
			return true
		}
	}
	if !d.detached() {
		return true
	}
	d.retirement.finish(by)
	return false
}

// detached reports whether the mount is nowhere any more. Detaching it is the last step of the successor.
func (d *succession) detached() bool {
	mounts, err := host.ReadMounts()
	return err == nil && !mounts.Has(d.device())
}

// stay undoes the retirement: the leases belong to this daemon again.
func (d *succession) stay() {
	accompanied := d.heldByPredecessor()
	for _, w := range d.registry.all() {
		w.keeper.Resume()
		w.guard.Overlap(accompanied)
	}
	d.takeBackRules()
	d.registry.shutLatches(false)
	if err := d.state.resume(); err != nil {
		d.log.Warn("journal of leases", zap.Error(err))
	}
	d.retirement.cancel()
	d.log.Warn("not replaced: this daemon continues")
}

// leaveToSuccessor is the second step. Clients that watch a lease here are sent to the successor.
func (d *succession) leaveToSuccessor() {
	d.leaveRules()
	for _, w := range d.registry.all() {
		if g, held := w.keeper.Held(); held {
			w.events.tell(lease.Loss{Kind: lease.LossReplaced, Token: g.Token, Since: g.Since, Holder: g.Holder})
		}
	}
	d.events.End() // the successor tells what follows
	d.log.Info("replaced: files that are open here stay here until they are closed")
}
