package daemon

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// explain answers why the named process may write, or not.
func (d *leaseOps) explain(w *worktree, s *session) (api.Response, error) {
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
func (d *leaseOps) answerHolder(ctx context.Context, w *worktree, s *session) (api.Response, error) {
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
func (d *leaseOps) holding(w *worktree) (lease.Token, lease.Holder, bool) {
	if grant, held := w.keeper.Held(); held {
		return grant.Token, grant.Holder, true
	}
	head, j := w.keeper.Observe()
	if head.Record == nil || j.State == lease.Free {
		return head.Token, lease.Holder{}, false
	}
	return head.Token, head.Record.Holder(), true
}

func (d *leaseOps) holderPlea(s *session, h lease.Holder, held bool) lockop.Plea {
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
func (d *leaseOps) namesHolder(s *session, h lease.Holder) bool {
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
func (d *leaseOps) aboutHead(w *worktree, f *api.Failure) *api.Failure {
	head, j := w.keeper.Observe()
	f.File = head.File
	if j.State != lease.Free {
		f.Holder = api.ViewOfRecord(head.Record)
	}
	return f
}

func (d *leaseOps) answerLockStatus(w *worktree, s *session) (api.Response, error) {
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
