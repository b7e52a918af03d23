package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// lastLook bounds the look for stores through mappings at the end of a window.
const lastLook = api.AnswerTimeout / 2

// windows are the times in which nothing changes in a worktree, because somebody has asked for it (jvsfs quiesce).
type windows struct {
	resolver     *gate.Resolver
	paths        *paths.Paths
	rules        *lockfile.Rules
	isPart       func(lease.WorktreeID) bool
	predecessors replacedDaemons
	flush        func(context.Context) error
	ended        func() bool // the daemon ends
	note         func(api.Event)
	audit        func(audit.Record) error
	log          *zap.Logger
}

var errAskerGone = errors.New("who asked for it has gone")

// answerQuiesce opens a window in which nothing changes, and keeps it open until the client says more. The window
// belongs to the connection: when that ends without a word, the window is broken.
func (d *windows) answerQuiesce(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Quiesce) (api.Response, error) {
	if d.predecessors.Live() {
		f := d.predecessors.Refuse("a worktree is not quiesced")
		f.Class = lease.ClassConsistencyUnavailable
		return api.Response{}, f
	}
	if err := d.mayQuiesce(w, s); err != nil {
		return api.Response{}, err
	}
	if err := d.partsOf(w); err != nil {
		return api.Response{}, err
	}
	of := gate.Windowed{Who: s.Peer.String(), Command: human.Printable(req.Command), Lasts: time.Duration(req.LastsMS) * time.Millisecond, Flush: d.flush}
	if h, ok := d.quiescer(s.Peer); ok {
		of.By, of.Who = h, h.ID()
	}
	if err := d.auditWindow(w, of, nil, nil); err != nil { // before anybody waits
		return api.Response{}, err
	}
	win, err := d.openWindow(ctx, w, of, time.Duration(req.WaitMS)*time.Millisecond)
	if err == nil {
		err = d.keepWindow(ctx, w, s, win)
	}
	if audited := d.auditWindow(w, of, win, err); audited != nil {
		err = errors.Join(err, audited)
	}
	return api.Response{}, err
}

// mayQuiesce makes sure that nobody stops the writers of others.
func (d *windows) mayQuiesce(w *leases.Worktree, s *control.Session) error {
	grant, held := w.Keeper.Held()
	p := lockop.Plea{Who: s.Op.Who, Op: s.Op.Name, PeerUID: s.Peer.UID, MountUID: uint32(os.Geteuid()), Held: held, HolderUID: grant.Holder.UID}
	if id, ok := s.Peer.Identify(d.resolver); ok {
		p.MayWrite = d.paths.MayWrite(w.ID, id)
		p.PeerMember = held && d.resolver.Member(grant.Holder, id)
	}
	if _, f := lockop.Authorize(p); f != nil {
		return w.AboutHead(f)
	}
	return nil
}

// partsOf refuses a window over a tree in which directories have leases of their own: their writers would not wait.
func (d *windows) partsOf(w *leases.Worktree) error {
	rules := d.rules.Leases()
	if len(rules) == 0 || d.isPart(w.ID) {
		return nil
	}
	return &api.Failure{
		Class:   lease.ClassConsistencyUnavailable,
		Message: fmt.Sprintf("rule %s gives directories of it leases of their own, and their writers would not wait", rules[0].Name),
		Next:    "quiesce each of those directories; jvsfs rules test and jvsfs layout name them",
	}
}

// quiescer is the client with its descendants: they may read, and are refused when they write. It is false if
// they cannot be told from others. Then a write of theirs waits, like everybody's.
func (d *windows) quiescer(p control.Peer) (lease.Holder, bool) {
	id, ok := p.Identify(d.resolver)
	if !ok || lockop.RefuseInit(id.PID, gate.ScopeTree) != nil {
		return lease.Holder{}, false
	}
	h, err := d.resolver.HolderFor(id.PID, gate.ScopeTree, "")
	return h, err == nil && h.StartTime == id.Start
}

// openWindow waits until nothing changes in the worktree.
func (d *windows) openWindow(ctx context.Context, w *leases.Worktree, of gate.Windowed, wait time.Duration) (*gate.Window, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return w.Guard.Quiesce(ctx, of)
}

// keepWindow tells the client, and returns when the window is over. The error says why it is broken.
func (d *windows) keepWindow(ctx context.Context, w *leases.Worktree, s *control.Session, win *gate.Window) error {
	d.note(api.Event{Kind: api.Quiesced, Worktree: string(w.ID), Token: win.Token(), Quiesced: w.Guard.Quiesced()})
	resp, err := api.ResultOf(api.Window{Since: win.Since(), Until: win.Until(), Token: win.Token()})
	if err == nil {
		resp.Event = api.EventResult
		err = s.Send(resp)
	}
	if err != nil {
		return win.Abandon(fmt.Errorf("%w: %w", errAskerGone, err))
	}
	select {
	case <-win.Over():
		return win.Err()
	case <-ctx.Done():
	}
	switch {
	case errors.Is(context.Cause(ctx), control.ErrSaidMore):
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
		defer cancel()
		return win.End(short)
	case d.ended():
		return win.Abandon(leases.ErrClosing)
	}
	return win.Abandon(errAskerGone)
}

// auditWindow writes the beginning of a window to the chain, before it opens, and its end. win is nil if it did
// not open.
func (d *windows) auditWindow(w *leases.Worktree, of gate.Windowed, win *gate.Window, err error) error {
	r := audit.Record{Timestamp: time.Now(), EventType: "quiesce_begin", Worktree: string(w.ID), Details: map[string]any{
		"mountpoint": d.paths.Mountpoint(), "by": of.Who, "command": of.Command, "lasts_ms": of.Lasts.Milliseconds(),
	}}
	if win != nil || err != nil {
		r.EventType = "quiesce_end"
		r.Details["outcome"] = api.WindowOutcome(err)
		if err != nil {
			r.Details["reason"] = api.AsFailure(err).Message
		}
		if win != nil {
			r.Details["since"], r.Details["fencing_token"] = win.Since().UTC(), win.Token()
			d.note(api.Event{Kind: api.QuiesceEnded, Worktree: string(w.ID), Token: win.Token(), Reason: reasonOf(err)})
		}
		d.log.Info("quiesce ended", zap.String("worktree", string(w.ID)), zap.String("by", of.Who), zap.Error(err))
	}
	return d.audit(r)
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return api.AsFailure(err).Message
}
