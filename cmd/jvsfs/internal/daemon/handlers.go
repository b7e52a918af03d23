package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"go.uber.org/zap"
)

// handle answers one request of the control socket.
func (d *Daemon) handle(ctx context.Context, s *session) {
	resp, err := d.answer(ctx, s)
	resp.Event = api.EventResult
	if errors.Is(err, errWatched) {
		resp.Event, err = api.EventLost, nil
	}
	if resp.Event == api.EventLost && resp.Reason == api.LossName(lease.LossReplaced) {
		return // whoever watches finds the new daemon when this connection ends
	}
	resp.Error = api.AsFailure(err)
	d.meter.counts.answered(s.req.Op, resp.Error == nil)
	if err := s.send(resp); err != nil {
		d.log.Info("control answer not delivered", zap.String("op", s.req.Op), zap.Error(err))
	}
	if s.req.Op == api.OpUnmount && resp.Error == nil && resp.Result == nil { // not for a copy
		d.finish()
	}
}

func (d *Daemon) answer(ctx context.Context, s *session) (api.Response, error) {
	switch s.req.Op {
	case api.OpRefusals:
		return d.trail.answerRefusals(s)
	case api.OpPing:
		return api.Response{}, nil
	case api.OpStatus:
		return api.ResultOf(d.statusFor(s.peer.UID))
	case api.OpConfig: // as open as status: it has no secrets
		return api.ResultOf(d.cfg.Origins())
	case api.OpDoctor:
		return d.answerDoctor(s)
	case api.OpRetire, api.OpRetired:
		return d.succession.answerRetire(ctx, s)
	}
	if s.req.Op == api.OpUnmount && d.unmounting.isCopy(s.req) {
		return api.ResultOf(api.Unmounted{CopyOf: d.mountpoint()}) // the client can do that by itself
	}
	leave, err := d.succession.letIn(s.req.Op)
	if err != nil {
		return api.Response{}, err
	}
	defer leave()
	switch s.req.Op {
	case api.OpUnmount:
		return d.unmounting.answerUnmount(s)
	case api.OpEnforce:
		return d.modes.answerEnforce(ctx, s)
	}
	w, err := d.worktreeAt(s.req.Path, s.peer.UID)
	if err != nil {
		return api.Response{}, err
	}
	switch s.req.Op {
	case api.OpExplain:
		return d.leases.explain(w, s)
	case api.OpAcquire, api.OpSteal:
		return d.leases.answerAcquire(ctx, w, s)
	case api.OpRenew, api.OpRelease:
		return d.leases.answerHolder(ctx, w, s)
	case api.OpWatch:
		return d.leases.answerWatch(ctx, w, s)
	case api.OpHandover:
		return d.leases.answerHandover(ctx, w, s)
	case api.OpLockStatus:
		return d.leases.answerLockStatus(w, s)
	}
	return api.Response{}, api.Usagef("unknown operation %q", s.req.Op)
}

// worktreeAt finds the worktree that a path below the mount lies in.
func (d *mount) worktreeAt(rel string, uid uint32) (*worktree, error) {
	id, ok := d.fs.WorktreeOf(rel)
	if !ok {
		return nil, &api.Failure{
			Class: api.ClassUsage, Message: fmt.Sprintf("%q is in none of the worktrees of this mount", rel),
			Next: "name main or worktrees/NAME below the mount point",
		}
	}
	if err := d.mustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.registry.get(id)
	if errors.Is(err, errClosing) {
		return nil, &api.Failure{Class: api.ClassNoMount, Message: err.Error()}
	}
	return w, err
}

// subject is the process that a request is about, pinned while fd says it lives.
type subject struct {
	id gate.Identity
	fd *os.File
}

func (p subject) close() { host.CloseFile(p.fd) }

// subjectOf finds the process a request names: by the descriptor that came with
// it, else by number, else the peer itself.
func (d *mount) subjectOf(s *session) (subject, error) {
	pid := s.req.PID
	switch {
	case s.pidfd != nil:
		var err error
		if pid, err = host.PIDOfPidfd(s.pidfd); err != nil {
			return subject{}, api.NoProcess(s.req.PID, err)
		}
	case pid == 0:
		pid = s.peer.PID
	}
	if pid <= 0 {
		return subject{}, api.NoProcess(s.req.PID, errors.New("it runs in a pid namespace that the daemon cannot see"))
	}
	fd, err := host.OpenPidfd(pid)
	if err != nil {
		return subject{}, api.NoProcess(pid, err)
	}
	id, err := lockop.Identify(d.resolver, pid)
	if err == nil && !host.PidfdAlive(fd) {
		err = errors.New("it has just ended")
	}
	if err == nil && s.req.Start != 0 && id.Start != s.req.Start {
		err = errors.New("the number has been given to another process")
	}
	if err != nil {
		host.CloseFile(fd)
		return subject{}, api.NoProcess(pid, err)
	}
	return subject{id: id, fd: fd}, nil
}

// peerIs resolves the calling process; false when it cannot be trusted to be who
// connected.
func (d *mount) peerIs(p peer) (gate.Identity, bool) {
	if p.PID == 0 {
		return gate.Identity{}, false
	}
	id, err := lockop.Identify(d.resolver, p.PID)
	return id, err == nil && p.alive()
}
