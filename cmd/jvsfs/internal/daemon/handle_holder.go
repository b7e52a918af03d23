package daemon

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// answerRelease gives the lease back, if the caller may do that.
func (d *leaseOps) answerRelease(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Release) (api.Response, error) {
	token, note, f := d.mayTouch(w, s, req.Holding)
	if f != nil {
		return api.Response{}, f
	}
	if resp, inside, err := d.releaseInsideExec(w, s, req); inside {
		return resp, err
	}
	if err := w.Keeper.ReleaseToken(ctx, token, lease.LossReleased); err != nil {
		return api.Response{}, err
	}
	return api.Response{Note: note, Token: token}, nil
}

// answerRenew renews it.
func (d *leaseOps) answerRenew(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Renew) (api.Response, error) {
	_, note, f := d.mayTouch(w, s, req.Holding)
	if f != nil {
		return api.Response{}, f
	}
	rec, err := w.Keeper.Renew(ctx)
	if err != nil {
		return api.Response{}, err
	}
	raw, err := api.RecordJSON(&rec, s.Peer.UID)
	return api.Response{Note: note, Record: raw, Token: rec.FencingToken}, err
}

// mayTouch decides whether the caller may renew or release a lease. token is the token of that lease.
func (d *leaseOps) mayTouch(w *leases.Worktree, s *control.Session, req api.Holding) (token lease.Token, note string, f *api.Failure) {
	grant, held := d.holding(w)
	if req.Token != 0 && !grant.Covers(req.Token) {
		held = false
	}
	if note, f = lockop.Authorize(d.holderPlea(s, req.Process, grant.Holder, held)); f != nil {
		return grant.Token, note, w.AboutHead(f)
	}
	return grant.Token, note, nil
}

// holding is the lease that a request to renew or release is about. While a failed renewal keeps the gate
// closed, the record is used. The keeper decides whether this mount may change the lease.
func (d *leaseOps) holding(w *leases.Worktree) (lease.Grant, bool) {
	if grant, held := w.Keeper.Held(); held {
		return grant, true
	}
	head, j := w.Keeper.Observe()
	if head.Record == nil || j.State == lease.Free {
		return lease.Grant{Token: head.Token}, false
	}
	return lease.Grant{Token: head.Token, Holder: head.Record.Holder()}, true
}

func (d *leaseOps) holderPlea(s *control.Session, named api.Process, h lease.Holder, held bool) lockop.Plea {
	p := lockop.Plea{Who: s.Op.Who, Op: s.Op.Name, PeerUID: s.Peer.UID, Held: held, HolderUID: h.UID, Explicit: named.Explicit}
	if !held {
		return p
	}
	if id, ok := s.Peer.Identify(d.resolver); ok {
		p.PeerMember = d.resolver.Member(h, id)
	}
	if p.Explicit {
		p.TargetMember = d.namesHolder(s, named, h)
	}
	return p
}

// namesHolder reports whether the request names the holder, which may have ended, or a process in its scope.
func (d *leaseOps) namesHolder(s *control.Session, named api.Process, h lease.Holder) bool {
	if named.Start != 0 && named.Start == h.StartTime && named.PID == h.PID {
		return true
	}
	who, err := s.Subject(d.resolver, named)
	if err != nil {
		return false
	}
	defer who.Close()
	return d.resolver.Member(h, who.ID)
}

// linkOf is refuseLink for who only looks. A store that does not answer keeps nobody waiting, nor one thread for each who asks: then the
// text of the path must do.
func (d *leaseOps) linkOf(w *leases.Worktree, rel string, uid uint32) error {
	if w.Silent() {
		return nil
	}
	var err error
	if !d.survey.InTime(func() { err = d.paths.RefuseLink(w.ID, rel, uid, "says nothing about that") }) {
		return nil
	}
	return err
}

func (d *leaseOps) answerLockStatus(w *leases.Worktree, s *control.Session, req api.LookAtLock) (api.Response, error) {
	if err := d.linkOf(w, req.Path, s.Peer.UID); err != nil {
		return api.Response{}, err
	}
	head, j := d.survey.Observed(w)
	if why := w.Guard.Resumed(); why != "" && j.State == lease.Held {
		j.Reason = why
	}
	st, err := api.LockStatusOf(w.ID, head, j, s.Peer.UID)
	if req.Explicit && head.Record != nil && err == nil {
		member := j.State != lease.Free && d.namesHolder(s, req.Process, head.Record.Holder())
		st.Member = &member
	}
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(st)
}
