package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"go.uber.org/zap"
)

// handle answers one request of the control socket.
func (d *daemon) handle(ctx context.Context, s *session) {
	resp, err := d.answer(ctx, s)
	resp.Event = eventResult
	if errors.Is(err, errWatched) {
		resp.Event, err = eventLost, nil
	}
	if resp.Event == eventLost && resp.Reason == lossName(lease.LossReplaced) {
		return // whoever watches finds the new daemon when this connection ends
	}
	resp.Error = asFailure(err)
	d.counts.answered(s.req.Op, resp.Error == nil)
	if err := s.send(resp); err != nil {
		d.log.Info("control answer not delivered", zap.String("op", s.req.Op), zap.Error(err))
	}
	if s.req.Op == opUnmount && resp.Error == nil && resp.Result == nil { // not for a copy
		d.finish()
	}
}

func (d *daemon) answer(ctx context.Context, s *session) (response, error) {
	switch s.req.Op {
	case opRefusals:
		return d.answerRefusals(s)
	case opPing:
		return response{}, nil
	case opStatus:
		return resultOf(d.statusFor(s.peer.UID))
	case opConfig: // as open as status: it has no secrets
		return resultOf(d.cfg.Origins())
	case opDoctor:
		return d.answerDoctor(s)
	case opRetire, opRetired:
		return d.answerRetire(ctx, s)
	}
	if s.req.Op == opUnmount && d.isCopy(s.req) {
		return resultOf(unmounted{CopyOf: d.mountpoint()}) // the client can do that by itself
	}
	leave, err := d.letIn(s.req.Op)
	if err != nil {
		return response{}, err
	}
	defer leave()
	switch s.req.Op {
	case opUnmount:
		return d.answerUnmount(s)
	case opEnforce:
		return d.answerEnforce(ctx, s)
	}
	w, err := d.worktreeAt(s.req.Path, s.peer.UID)
	if err != nil {
		return response{}, err
	}
	switch s.req.Op {
	case opExplain:
		return d.explain(w, s)
	case opAcquire, opSteal:
		return d.answerAcquire(ctx, w, s)
	case opRenew, opRelease:
		return d.answerHolder(ctx, w, s)
	case opWatch:
		return d.answerWatch(ctx, w, s)
	case opHandover:
		return d.answerHandover(ctx, w, s)
	case opLockStatus:
		return d.answerLockStatus(w, s)
	}
	return response{}, usagef("unknown operation %q", s.req.Op)
}

// worktreeAt finds the worktree that a path below the mount lies in.
func (d *daemon) worktreeAt(rel string, uid uint32) (*worktree, error) {
	id, ok := d.fs.WorktreeOf(rel)
	if !ok {
		return nil, &failure{
			Class: classUsage, Message: fmt.Sprintf("%q is in none of the worktrees of this mount", rel),
			Next: "name main or worktrees/NAME below the mount point",
		}
	}
	if err := d.mustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.registry.get(id)
	if errors.Is(err, errClosing) {
		return nil, &failure{Class: classNoMount, Message: err.Error()}
	}
	return w, err
}

// subject is the process that a request is about, pinned while fd says it lives.
type subject struct {
	id gate.Identity
	fd *os.File
}

func (p subject) close() { closeFile(p.fd) }

// subjectOf finds the process a request names: by the descriptor that came with
// it, else by number, else the peer itself.
func (d *daemon) subjectOf(s *session) (subject, error) {
	pid := s.req.PID
	switch {
	case s.pidfd != nil:
		var err error
		if pid, err = pidOfPidfd(s.pidfd); err != nil {
			return subject{}, noProcess(s.req.PID, err)
		}
	case pid == 0:
		pid = s.peer.PID
	}
	if pid <= 0 {
		return subject{}, noProcess(s.req.PID, errors.New("it runs in a pid namespace that the daemon cannot see"))
	}
	fd, err := openPidfd(pid)
	if err != nil {
		return subject{}, noProcess(pid, err)
	}
	id, err := identify(d.resolver, pid)
	if err == nil && !pidfdAlive(fd) {
		err = errors.New("it has just ended")
	}
	if err == nil && s.req.Start != 0 && id.Start != s.req.Start {
		err = errors.New("the number has been given to another process")
	}
	if err != nil {
		closeFile(fd)
		return subject{}, noProcess(pid, err)
	}
	return subject{id: id, fd: fd}, nil
}

// peerIs resolves the calling process; false when it cannot be trusted to be who
// connected.
func (d *daemon) peerIs(p peer) (gate.Identity, bool) {
	if p.PID == 0 {
		return gate.Identity{}, false
	}
	id, err := identify(d.resolver, p.PID)
	return id, err == nil && p.alive()
}

// explain answers why the named process may write, or not.
func (d *daemon) explain(w *worktree, s *session) (response, error) {
	who, err := d.subjectOf(s)
	if err != nil {
		return response{}, err
	}
	defer who.close()
	x := w.guard.ExplainAt(who.id.PID, d.fs.Where(s.req.Path))
	x.Path = s.req.Path
	return resultOf(d.advised(x))
}

// answerHolder renews or releases for those who may.
func (d *daemon) answerHolder(ctx context.Context, w *worktree, s *session) (response, error) {
	token, h, held := d.holding(w)
	if s.req.Token != 0 && token != s.req.Token {
		held = false
	}
	note, f := authorize(d.holderPlea(s, h, held))
	if f != nil {
		return response{}, d.aboutHead(w, f)
	}
	if s.req.Op == opRelease {
		if err := w.keeper.Release(ctx, lease.LossReleased); err != nil {
			return response{}, err
		}
		return response{Note: note, Token: token}, nil
	}
	rec, err := w.keeper.Renew(ctx)
	if err != nil {
		return response{}, err
	}
	raw, err := recordJSON(&rec, s.peer.UID)
	return response{Note: note, Record: raw, Token: rec.FencingToken}, err
}

// holding is the lease that a request to renew or release is about. The record
// stands in while a failed renewal keeps the gate closed; whether the lease is
// this mount's to change is for the keeper to say.
func (d *daemon) holding(w *worktree) (lease.Token, lease.Holder, bool) {
	if grant, held := w.keeper.Held(); held {
		return grant.Token, grant.Holder, true
	}
	head, j := w.keeper.Observe()
	if head.Record == nil || j.State == lease.Free {
		return head.Token, lease.Holder{}, false
	}
	return head.Token, head.Record.Holder(), true
}

func (d *daemon) holderPlea(s *session, h lease.Holder, held bool) plea {
	p := plea{Op: s.req.Op, PeerUID: s.peer.UID, Held: held, HolderUID: h.UID, Explicit: s.req.Explicit}
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
func (d *daemon) namesHolder(s *session, h lease.Holder) bool {
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
func (d *daemon) aboutHead(w *worktree, f *failure) *failure {
	head, j := w.keeper.Observe()
	f.File = head.File
	if j.State != lease.Free {
		f.Holder = viewOfRecord(head.Record)
	}
	return f
}

func (d *daemon) answerLockStatus(w *worktree, s *session) (response, error) {
	head, j := w.keeper.Observe()
	st, err := lockStatusOf(w.id, head, j, s.peer.UID)
	if s.req.Explicit && head.Record != nil && err == nil {
		member := j.State != lease.Free && d.namesHolder(s, head.Record.Holder())
		st.Member = &member
	}
	if err != nil {
		return response{}, err
	}
	return resultOf(st)
}
