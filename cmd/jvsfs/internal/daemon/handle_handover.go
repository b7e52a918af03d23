package daemon

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// answerHandover gives the lease to the process or host that the request names.
func (d *leaseOps) answerHandover(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Handover) (api.Response, error) {
	if d.predecessors.Live() {
		return api.Response{}, d.predecessors.Refuse("a lease is not handed over")
	}
	if err := d.paths.RefuseLink(w.ID, req.Path, s.Peer.UID, "would not keep others from that"); err != nil {
		return api.Response{}, err
	}
	if req.Host != "" {
		return d.answerOffer(ctx, w, s, req)
	}
	who, err := s.Subject(d.resolver, req.Process)
	if err != nil {
		return api.Response{}, err
	}
	defer who.Close()
	if err := leadsSession(req.Scope, who.ID); err != nil {
		return api.Response{}, err
	}
	old, held := w.Keeper.Held()
	note, f := lockop.Authorize(d.handoverPlea(w, s, req.Scope, who, old.Holder, held))
	if f != nil {
		return api.Response{}, w.AboutHead(f)
	}
	if req.Purpose == "" && !old.Holder.Auto { // else it only says who took the lease
		req.Purpose = old.Holder.Purpose
	}
	h, err := d.holderFor(w, req.Scope, req.Purpose, who)
	if err != nil {
		return api.Response{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.WaitMS)*time.Millisecond)
	defer cancel()
	if err := d.flush.before(ctx); err != nil {
		return api.Response{}, err
	}
	grant, err := w.Keeper.Handover(ctx, old.Token, h, d.flush.within)
	if err != nil {
		return api.Response{}, err
	}
	w.Guard.Admit(h)
	d.admitted(w.ID, h)
	return d.handedOver(w, s, old, &grant.Record, note)
}

// answerOffer offers the lease to the first who acquires it on the host that the request names.
func (d *leaseOps) answerOffer(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Handover) (api.Response, error) {
	old, held := w.Keeper.Held()
	p := lockop.Plea{Who: s.Op.Who, Op: s.Op.Name, PeerUID: s.Peer.UID, Held: held, HolderUID: old.Holder.UID, MayWrite: true} // the daemon of that host judges who may take it
	if id, ok := s.Peer.Identify(d.resolver); ok && held {
		p.PeerMember = d.resolver.Member(old.Holder, id)
	}
	note, f := lockop.Authorize(p)
	if f != nil {
		return api.Response{}, w.AboutHead(f)
	}
	wait := time.Duration(req.WaitMS) * time.Millisecond
	by := time.Now().Add(wait)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := d.flush.before(ctx); err != nil {
		return api.Response{}, err
	}
	d.log.Info("lease offered", zap.String("worktree", string(w.ID)), zap.Uint64("token", uint64(old.Token)),
		zap.String("from", old.Holder.ID()), zap.String("to_host", req.Host))
	rec, err := w.Keeper.OfferTo(ctx, old.Token, req.Host, by, d.flush.within)
	if err != nil {
		return api.Response{}, err
	}
	return d.handedOver(w, s, old, &rec, note)
}

// handedOver words the answer.
func (d *leaseOps) handedOver(w *leases.Worktree, s *control.Session, old lease.Grant, next *record.Record, note string) (api.Response, error) {
	d.log.Info("lease handed over", zap.String("worktree", string(w.ID)), zap.Uint64("token", uint64(next.FencingToken)),
		zap.String("from", old.Holder.ID()), zap.String("to", next.HolderID))
	raw, err := api.RecordJSON(next, s.Peer.UID)
	if err != nil {
		return api.Response{}, err
	}
	from := api.ViewOfHolder(old.Holder)
	from.FencingToken = old.Token
	resp, err := api.ResultOf(api.HandoverResult{From: from, Record: raw})
	resp.Note, resp.Token = note, next.FencingToken
	return resp, err
}

// leadsSession makes sure that a lease for a session is bound to the session's leader.
func leadsSession(scope string, id process.Identity) error {
	if gate.Scope(scope) != gate.ScopeSession || id.Session == id.PID {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("process %d leads no session: it is in session %d", id.PID, id.Session),
		Next: "name the session by its leader, or a process with --to-pid"}
}

// handoverPlea collects the facts that decide about a handover. The caller must be the holder, or be in its
// scope, whatever process it names.
func (d *leaseOps) handoverPlea(w *leases.Worktree, s *control.Session, scope string, who control.Subject, h lease.Holder, held bool) lockop.Plea {
	p := d.pleaOf(w, s, scope, who)
	p.Held, p.HolderUID = held, h.UID
	if id, ok := s.Peer.Identify(d.resolver); ok && held {
		p.PeerMember = d.resolver.Member(h, id)
	}
	return p
}
