package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// leaseOps answers the requests about a lease: acquire, steal, renew, release, hand over, watch and lock status.
type leaseOps struct {
	resolver     *gate.Resolver
	paths        *paths.Paths
	locks        *lease.Dir
	survey       *leases.Survey
	predecessors replacedDaemons
	retirement   interface {
		LetIn(what control.Change) (leave func(), err error)
		Reworded(closing error) error
	}
	take     func() (done func())                 // registry.Take
	admitted func(lease.WorktreeID, lease.Holder) // somebody has acquired on purpose
	flush    *flusher
	log      *zap.Logger
}

// answerAcquire takes the lease for the named process. If the request says so, it waits for the lease, and
// keeps the connection to report the loss.
func (d *leaseOps) answerAcquire(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Acquire) (api.Response, error) {
	return d.answerTake(ctx, w, s, lockop.TakeAcquiring(req), req.Watch)
}

// answerSteal takes an expired lease over.
func (d *leaseOps) answerSteal(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Steal) (api.Response, error) {
	return d.answerTake(ctx, w, s, lockop.TakeStealing(req), false)
}

func (d *leaseOps) answerTake(ctx context.Context, w *leases.Worktree, s *control.Session, req lockop.Take, watch bool) (api.Response, error) {
	who, err := s.Subject(d.resolver, req.Process)
	if err != nil {
		return api.Response{}, err
	}
	defer who.Close()
	if _, f := lockop.Authorize(d.pleaOf(w, s, req.Scope, who)); f != nil {
		return api.Response{}, f
	}
	if err := d.paths.RefuseLink(w.ID, req.Path, s.Peer.UID, "would not keep others from that"); err != nil {
		return api.Response{}, err
	}
	if resp, inside, err := d.insideExec(w, s, req, who); inside && !watch {
		return resp, err
	}
	losses, done := w.Losses()
	defer done()
	taken := d.take()
	grant, err := d.acquireFor(ctx, w, s, req, who, losses)
	taken()
	if err != nil {
		return api.Response{}, d.shutBehind(err)
	}
	d.log.Info("lease acquired", zap.String("worktree", string(w.ID)), zap.Uint64("token", uint64(grant.Token)),
		zap.String("holder", grant.Holder.ID()), zap.String("purpose", grant.Holder.Purpose))
	resp, err := d.leased(w, s, grant)
	if err != nil || !watch {
		return resp, err
	}
	defer w.Exec.Begin(grant.Since)()
	resp.Event = api.EventResult
	if err := s.Send(resp); err != nil {
		return resp, err
	}
	s.Undelivered = nil // it was heard; who hangs up now does not watch any more
	reason := w.AwaitLoss(ctx, grant, losses)
	return api.Response{Reason: reason}, control.ErrWatched
}

// shutBehind words the answer to a request that entered while the latches were being shut.
func (d *leaseOps) shutBehind(err error) error {
	if errors.Is(err, leases.ErrClosing) {
		return d.retirement.Reworded(leases.Closing(err))
	}
	return err
}

// leased is what a client is told of a lease that it takes or watches.
func (d *leaseOps) leased(w *leases.Worktree, s *control.Session, grant lease.Grant) (api.Response, error) {
	resp, err := api.ResultOf(api.Leased{Root: d.paths.RootOf(w.ID)})
	if err != nil {
		return resp, err
	}
	resp.Token = grant.Token
	resp.Record, err = api.RecordJSON(&grant.Record, s.Peer.UID)
	return resp, err
}

// pleaOf collects the facts that decide whether the lease may be taken for a process.
func (d *leaseOps) pleaOf(w *leases.Worktree, s *control.Session, wanted string, who control.Subject) lockop.Plea {
	scope := gate.Scope(wanted)
	return lockop.Plea{
		Who: s.Op.Who, Op: s.Op.Name, PeerUID: s.Peer.UID, TargetUID: who.ID.UID,
		MayWrite: d.paths.MayWrite(w.ID, who.ID),
		Wider:    (scope == gate.ScopeMount || scope == gate.ScopeCgroup) && scope != w.Guard.Scope(),
	}
}

// acquireFor tries until it has the lease, fails for good, or its time is over.
func (d *leaseOps) acquireFor(ctx context.Context, w *leases.Worktree, s *control.Session, req lockop.Take, who control.Subject, losses <-chan lease.Loss) (lease.Grant, error) {
	h, err := d.holderFor(w, req.Scope, req.Purpose, who)
	if err != nil {
		return lease.Grant{}, err
	}
	if by, ok := s.Peer.Identify(d.resolver); ok && req.Kept && who.ID.PPID == by.PID {
		h = gate.WithSubreaper(h, by)
	}
	begun, waited := time.Now(), false
	wait := lockop.Waiting{
		Until:   time.Now().Add(time.Duration(req.WaitMS) * time.Millisecond),
		Wake:    losses,
		Observe: w.Keeper.Observe,
		Live:    d.resolver.Liveness,
		Say: func(text string) error {
			waited = true
			return s.Send(api.Response{Event: api.EventWaiting, Note: text})
		},
	}
	if !req.Robs {
		wait.Turn, wait.OutOfTurn, wait.Own = w.Guard.Queue().Join(), w.Guard.OutOfTurn, func() bool { return d.holdsAlready(w, h, who.ID) }
		defer wait.Turn.Leave()
	}
	grant, err := wait.Run(ctx, func() (lease.Grant, error) {
		return w.Through(func() (lease.Grant, error) {
			return lockop.StealFencing(ctx, d.locks.Store(w.ID), s.Peer.UID, req.Robs && req.Force, d.fenced(w, s),
				func() (lease.Grant, error) { return d.try(ctx, w, s, req, h, who.ID) })
		})
	})
	if waited {
		w.Counts.Waited(time.Since(begun), err == nil)
	}
	if err == nil && !process.PidfdAlive(who.FD) && req.PID != 0 {
		return grant, api.NoProcess(who.ID.PID, fmt.Errorf("it ended while the lease was taken; the lease is released"))
	}
	return grant, err
}

// holdsAlready reports whether the caller has the lease already, or belongs to the holder of an automatic one.
func (d *leaseOps) holdsAlready(w *leases.Worktree, h lease.Holder, id process.Identity) bool {
	old, held := w.Keeper.Held()
	return held && (old.Holder.ID() == h.ID() || old.Holder.Auto && d.resolver.Member(old.Holder, id))
}

// holderFor makes the holder, and checks that its process is the pinned one.
func (d *leaseOps) holderFor(w *leases.Worktree, wanted, purpose string, who control.Subject) (lease.Holder, error) {
	scope, err := gate.ParseScope(wanted)
	if err != nil {
		return lease.Holder{}, api.Usagef("%v", err)
	}
	if scope == gate.ScopeDefault {
		scope = w.Guard.Scope()
	}
	if f := lockop.RefuseInit(who.ID.PID, scope); f != nil {
		return lease.Holder{}, f
	}
	h, err := d.resolver.HolderFor(who.ID.PID, scope, purpose)
	if err != nil {
		return h, api.NoProcess(who.ID.PID, err)
	}
	if h.StartTime != who.ID.Start || !process.PidfdAlive(who.FD) {
		return h, api.NoProcess(who.ID.PID, fmt.Errorf("it has just ended"))
	}
	return h, nil
}

// try tries once to take the lease. An automatic lease of the same holder passes to it without a gap.
func (d *leaseOps) try(ctx context.Context, w *leases.Worktree, s *control.Session, req lockop.Take, h lease.Holder, id process.Identity) (lease.Grant, error) {
	before, held := w.Keeper.Held()
	grant, err := d.takeLease(ctx, w, req, h, id)
	if err == nil {
		d.giveBackUndelivered(ctx, w, s, grant, held && !before.Holder.Auto && before.Covers(grant.Token))
		w.Guard.Admit(h)
		d.admitted(w.ID, h)
	}
	return grant, err
}

func (d *leaseOps) takeLease(ctx context.Context, w *leases.Worktree, req lockop.Take, h lease.Holder, id process.Identity) (lease.Grant, error) {
	if req.Robs {
		if err := lockop.StillThere(w.Keeper, req.Agreed); err != nil {
			return lease.Grant{}, err
		}
		return w.Keeper.Steal(ctx, h)
	}
	grant, err := w.Keeper.Acquire(ctx, h)
	if err == nil || !lockop.Waitable(err) {
		return grant, err
	}
	if old, held := w.Keeper.Held(); held && old.Holder.Auto && d.resolver.Member(old.Holder, id) {
		return w.Keeper.Replace(ctx, old.Token, h)
	}
	if _, j := w.Keeper.Observe(); req.IfExpired && j.State == lease.Stealable {
		return w.Keeper.Steal(ctx, h)
	}
	return grant, err
}

// fenced reports to the client and the log that a daemon was ended.
func (d *leaseOps) fenced(w *leases.Worktree, s *control.Session) func(string) {
	return func(text string) {
		d.log.Warn("fenced", zap.String("worktree", string(w.ID)), zap.String("what", text), zap.Uint32("by_user", s.Peer.UID))
		if err := s.Send(api.Response{Event: api.EventWaiting, Note: text}); err != nil {
			d.log.Info("note not delivered", zap.Error(err))
		}
	}
}
