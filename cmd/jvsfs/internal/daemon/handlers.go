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
	d.counts.answered(s.req.Op, resp.Error == nil)
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
		return d.answerRefusals(s)
	case api.OpPing:
		return api.Response{}, nil
	case api.OpStatus:
		return api.ResultOf(d.statusFor(s.peer.UID))
	case api.OpConfig: // as open as status: it has no secrets
		return api.ResultOf(d.cfg.Origins())
	case api.OpDoctor:
		return d.answerDoctor(s)
	case api.OpRetire, api.OpRetired:
		return d.answerRetire(ctx, s)
	}
	if s.req.Op == api.OpUnmount && d.isCopy(s.req) {
		return api.ResultOf(api.Unmounted{CopyOf: d.mountpoint()}) // the client can do that by itself
	}
	leave, err := d.letIn(s.req.Op)
	if err != nil {
		return api.Response{}, err
	}
	defer leave()
	switch s.req.Op {
	case api.OpUnmount:
		return d.answerUnmount(s)
	case api.OpEnforce:
		return d.answerEnforce(ctx, s)
	}
	w, err := d.worktreeAt(s.req.Path, s.peer.UID)
	if err != nil {
		return api.Response{}, err
	}
	switch s.req.Op {
	case api.OpExplain:
		return d.explain(w, s)
	case api.OpAcquire, api.OpSteal:
		return d.answerAcquire(ctx, w, s)
	case api.OpRenew, api.OpRelease:
		return d.answerHolder(ctx, w, s)
	case api.OpWatch:
		return d.answerWatch(ctx, w, s)
	case api.OpHandover:
		return d.answerHandover(ctx, w, s)
	case api.OpLockStatus:
		return d.answerLockStatus(w, s)
	}
	return api.Response{}, api.Usagef("unknown operation %q", s.req.Op)
}

// worktreeAt finds the worktree that a path below the mount lies in.
func (d *Daemon) worktreeAt(rel string, uid uint32) (*worktree, error) {
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
func (d *Daemon) subjectOf(s *session) (subject, error) {
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
func (d *Daemon) peerIs(p peer) (gate.Identity, bool) {
	if p.PID == 0 {
		return gate.Identity{}, false
	}
	id, err := lockop.Identify(d.resolver, p.PID)
	return id, err == nil && p.alive()
}

// explain answers why the named process may write, or not.
func (d *Daemon) explain(w *worktree, s *session) (api.Response, error) {
	who, err := d.subjectOf(s)
	if err != nil {
		return api.Response{}, err
	}
	defer who.close()
	x := w.guard.ExplainAt(who.id.PID, d.fs.Where(s.req.Path))
	x.Path = s.req.Path
	return api.ResultOf(d.advised(x))
}

// answerHolder renews or releases for those who may.
func (d *Daemon) answerHolder(ctx context.Context, w *worktree, s *session) (api.Response, error) {
	token, h, held := d.holding(w)
	if s.req.Token != 0 && token != s.req.Token {
		held = false
	}
	note, f := lockop.Authorize(d.holderPlea(s, h, held))
	if f != nil {
		return api.Response{}, d.aboutHead(w, f)
	}
	if s.req.Op == api.OpRelease {
		if err := w.keeper.Release(ctx, lease.LossReleased); err != nil {
			return api.Response{}, err
		}
		return api.Response{Note: note, Token: token}, nil
	}
	rec, err := w.keeper.Renew(ctx)
	if err != nil {
		return api.Response{}, err
	}
	raw, err := api.RecordJSON(&rec, s.peer.UID)
	return api.Response{Note: note, Record: raw, Token: rec.FencingToken}, err
}

// holding is the lease that a request to renew or release is about. The record
// stands in while a failed renewal keeps the gate closed; whether the lease is
// this mount's to change is for the keeper to say.
func (d *Daemon) holding(w *worktree) (lease.Token, lease.Holder, bool) {
	if grant, held := w.keeper.Held(); held {
		return grant.Token, grant.Holder, true
	}
	head, j := w.keeper.Observe()
	if head.Record == nil || j.State == lease.Free {
		return head.Token, lease.Holder{}, false
	}
	return head.Token, head.Record.Holder(), true
}

func (d *Daemon) holderPlea(s *session, h lease.Holder, held bool) lockop.Plea {
	p := lockop.Plea{Op: s.req.Op, PeerUID: s.peer.UID, Held: held, HolderUID: h.UID, Explicit: s.req.Explicit}
	if !held {
		return p
	}
	if id, ok := d.peerIs(s.peer); ok {
		p.PeerMember = d.resolver.Member(h, id)
	}
	if p.Explicit {
		p.TargetMember = d.namesHolder(s, h)
	}
	return p
}

// namesHolder tells whether the request names the holder, which may have ended,
// or a process in its scope.
func (d *Daemon) namesHolder(s *session, h lease.Holder) bool {
	if s.req.Start != 0 && s.req.Start == h.StartTime && s.req.PID == h.PID {
		return true
	}
	who, err := d.subjectOf(s)
	if err != nil {
		return false
	}
	defer who.close()
	return d.resolver.Member(h, who.id)
}

// aboutHead adds the current record to a failure.
func (d *Daemon) aboutHead(w *worktree, f *api.Failure) *api.Failure {
	head, j := w.keeper.Observe()
	f.File = head.File
	if j.State != lease.Free {
		f.Holder = api.ViewOfRecord(head.Record)
	}
	return f
}

func (d *Daemon) answerLockStatus(w *worktree, s *session) (api.Response, error) {
	head, j := w.keeper.Observe()
	st, err := api.LockStatusOf(w.id, head, j, s.peer.UID)
	if s.req.Explicit && head.Record != nil && err == nil {
		member := j.State != lease.Free && d.namesHolder(s, head.Record.Holder())
		st.Member = &member
	}
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(st)
}
