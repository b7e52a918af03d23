package succession

import (
	"context"
	"errors"
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

// Retirement is how this daemon is replaced.
type Retirement struct {
	Detached     func() bool // the mount is nowhere any more: detaching it is the last step of the successor
	Journal      *journal.Journal
	Predecessors *Predecessors
	Rules        *RuleHandover
	Resumed      func() error // the journal goes on, which had ended
	EndEvents    func()       // the successor tells what follows
	Log          *zap.Logger

	Leases interface {
		Shut(why error) // nobody acquires, and windows break
		Open()          // the end of Shut
		Follow(ctx context.Context, lead func(lease.WorktreeID) lease.Lead) (held map[lease.WorktreeID]lease.Saved, err error)
		Resume()       // the end of Follow
		TellReplaced() // those who watch a lease
		Ended() bool   // the daemon has been told to end
	}

	latch latch
}

// LetIn admits a request, unless the daemon is being replaced.
func (d *Retirement) LetIn(what control.Change) (leave func(), err error) {
	if what == control.ChangesNothing {
		return func() {}, nil
	}
	leave, ok := d.latch.enter()
	if !ok {
		return nil, errReplaced()
	}
	if what == control.WaitsLong {
		leave()
		return func() {}, nil
	}
	return leave, nil
}

// UnderWay reports whether the daemon is being replaced, or was.
func (d *Retirement) UnderWay() bool { return d.latch.underWay() }

// Reworded is the answer to a request that entered while the latch was being shut: closing is why it failed.
func (d *Retirement) Reworded(closing error) error {
	if d.latch.underWay() {
		return errReplaced()
	}
	return closing
}

func errReplaced() *api.Failure {
	return &api.Failure{Class: api.ClassBusy, Message: "the daemon of the mount is just being replaced", Next: "try again"}
}

// Finish is the second step.
func (d *Retirement) Finish(req api.Retired) (api.Response, error) {
	by, err := api.ParseDevice(req.Device)
	if err != nil {
		return api.Response{}, api.Usagef("%v", err)
	}
	if !d.latch.finish(by) {
		return api.Response{}, api.Usagef("this daemon is not being replaced by %s", by)
	}
	return api.Response{}, nil
}

// Begin is the first step, and the wait for the second.
func (d *Retirement) Begin(ctx context.Context, send func(api.Response) error, req api.Retire) (api.Response, error) {
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
	done, err := d.latch.begin(by, st.Daemon)
	if err != nil {
		return api.Response{}, err
	}
	if err := d.latch.alone(ctx); err != nil {
		d.latch.cancel()
		return api.Response{}, err
	}
	return d.retire(ctx, send, by, st.Daemon, done)
}

// retire answers with the leases that are held. Then it waits for the second step, or for the end of the new
// daemon.
func (d *Retirement) retire(ctx context.Context, send func(api.Response) error, by api.Device, successor host.ProcessState, done <-chan struct{}) (api.Response, error) {
	d.Leases.Shut(errors.New("the daemon is being replaced"))
	d.Journal.End() // the successor removes the file
	var left journal.File
	err := d.Rules.lend(ctx)
	if err == nil {
		left, err = d.follow(ctx, by, successor, done)
	}
	if err == nil {
		var resp api.Response
		if resp, err = api.ResultOf(left); err == nil {
			resp.Event = api.EventResult
			err = send(resp)
		}
	}
	if err != nil {
		d.stay()
		return api.Response{}, err
	}
	d.Log.Info("being replaced", zap.Stringer("by", by), zap.Int("pid", successor.PID))
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
func (d *Retirement) follow(ctx context.Context, by api.Device, successor host.ProcessState, done <-chan struct{}) (journal.File, error) {
	left := journal.File{Version: host.StateVersion}
	who, err := host.ThisProcess()
	held, followed := d.Leases.Follow(ctx, func(id lease.WorktreeID) lease.Lead { return leadOf(who, by, id, successor, done) })
	left.Daemon, left.Held, err = who, held, errors.Join(err, followed)
	now := d.Journal.Entries()
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
func (d *Retirement) outlives(by api.Device, successor host.ProcessState, done <-chan struct{}) bool {
	for successor.Liveness() != lease.Gone && !d.Detached() {
		select {
		case <-done:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		if d.Leases.Ended() { // told to end meanwhile
			return true
		}
	}
	if !d.Detached() {
		return true
	}
	d.latch.finish(by)
	return false
}

// stay undoes the retirement: the leases belong to this daemon again.
func (d *Retirement) stay() {
	accompanied := d.Predecessors.Live()
	d.Leases.Resume()
	d.Predecessors.Overlap(accompanied)
	d.Rules.takeBack()
	d.Leases.Open()
	if err := d.Resumed(); err != nil {
		d.Log.Warn("journal of leases", zap.Error(err))
	}
	d.latch.cancel()
	d.Log.Warn("not replaced: this daemon continues")
}

// leaveToSuccessor is the second step. Clients that watch a lease here are sent to the successor.
func (d *Retirement) leaveToSuccessor() {
	d.Rules.leave()
	d.Leases.TellReplaced()
	d.EndEvents()
	d.Log.Info("replaced: files that are open here stay here until they are closed")
}
