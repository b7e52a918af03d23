package rulelocks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// windowPatience bounds the wait for what is in flight when a maintenance window opens.
const windowPatience = api.AnswerTimeout

// AnswerOpen opens a maintenance window. That of a process stays open until the client says more, or has gone.
func (d *Locks) AnswerOpen(ctx context.Context, s *control.Session, req api.OpenRule) (api.Response, error) {
	if d.book == nil {
		return api.Response{}, d.whyNoWindow(tenure.ErrUnprotected, req.Path)
	}
	holder, err := d.windowHolder(s, req)
	if err != nil {
		return api.Response{}, err
	}
	lasts := time.Duration(req.LastsMS) * time.Millisecond
	by := process.Caller{TID: uint32(s.Peer.PID), UID: s.Peer.UID}
	short, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	w, err := d.book.Open(short, tenure.Opening{
		Path: req.Path, IsDir: d.Paths.IsDir(req.Path), Holder: holder, Lasts: lasts, By: by,
		Record: func(v tenure.WindowView) error {
			return d.Audit(windowRecord(tenure.Event{Kind: tenure.WindowOpened, Window: &v, By: by}, d.Worktree))
		},
	})
	if err != nil {
		return api.Response{}, d.whyNoWindow(err, req.Path)
	}
	d.Log.Warn("maintenance window opened", zap.String("path", req.Path), zap.String("by", s.Peer.String()), zap.String("holder", holder.ID()))
	if req.PID == 0 {
		return api.ResultOf(api.RuleWindow{WindowView: w.View()})
	}
	return d.keepWindow(ctx, s, w, by)
}

// keepWindow tells the client, and returns when the window is over.
func (d *Locks) keepWindow(ctx context.Context, s *control.Session, w *tenure.Window, by process.Caller) (api.Response, error) {
	resp, err := api.ResultOf(api.RuleWindow{WindowView: w.View()})
	if err == nil {
		resp.Event = api.EventResult
		err = s.Send(resp)
	}
	if err == nil {
		select {
		case <-w.Over():
		case <-ctx.Done():
		}
	}
	w.Close(by)
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(api.RuleWindow{WindowView: w.View(), Ended: w.How()})
}

// windowHolder is the session of who asks, or the process that is named, with its descendants.
func (d *Locks) windowHolder(s *control.Session, req api.OpenRule) (h lease.Holder, err error) {
	if req.PID == 0 {
		id, ok := s.Peer.Identify(d.Resolver)
		if !ok {
			return h, api.NoProcess(s.Peer.PID, errors.New("it runs in a pid namespace that the daemon cannot see"))
		}
		h, err = d.Resolver.LockHolder(process.Caller{TID: uint32(id.PID), UID: s.Peer.UID}, lockfile.Session)
		h.Purpose = "maintenance"
		return h, err
	}
	p, err := s.Subject(d.Resolver, req.Process)
	if err != nil {
		return h, err
	}
	defer p.Close()
	if f := lockop.RefuseInit(p.ID.PID, gate.ScopeTree); f != nil {
		return h, f
	}
	if s.Peer.UID != 0 && p.ID.UID != s.Peer.UID {
		return h, &api.Failure{Class: api.ClassDenied, Message: "the process belongs to another user", Next: "run it as root"}
	}
	return d.Resolver.HolderFor(p.ID.PID, gate.ScopeTree, human.Printable(req.Purpose))
}

// whyNoWindow words why a window was not opened.
func (d *Locks) whyNoWindow(err error, path string) error {
	held, holds := errors.AsType[tenure.HeldError](err)
	other, overlaps := errors.AsType[tenure.OverlapError](err)
	place := human.Typed(d.Paths.Below(path))
	switch {
	case errors.Is(err, tenure.ErrUnprotected):
		return &api.Failure{Class: api.ClassUsage, Message: "no rule protects " + d.Paths.Below(path), Next: "jvsfs rules " + human.Typed(d.Paths.Mountpoint()) + " lists the rules"}
	case holds:
		return &api.Failure{
			Class: lease.ClassLockConflict, Message: fmt.Sprintf("lock %s of rule %s is held since %s by %s: a window takes nothing from anybody", held.Lock, held.Rule, human.Clock(*held.Since), held.HolderText()),
			Next: "wait until it gives the lock up, or take it away: jvsfs rules break " + place, Err: err,
		}
	case overlaps:
		return &api.Failure{Class: lease.ClassLockConflict, Message: other.Error(), Next: "wait until it is over, or jvsfs rules close " + human.Typed(d.Paths.Below(other.Path)), Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &api.Failure{Class: api.ClassBusy, Message: "what is in flight there did not end in time, so no window is open", Next: "try again", Err: err}
	}
	return err
}

// AnswerClose closes a window: root may, and who belongs to its holder.
func (d *Locks) AnswerClose(s *control.Session, req api.CloseRule) (api.Response, error) {
	if d.book == nil {
		return api.Response{}, noWindow(d.Paths.Below(req.Path))
	}
	w, more := d.book.At(req.Path)
	switch {
	case more:
		return api.Response{}, api.Usagef("%s belongs to more than one window: name the path that was opened; jvsfs status shows it", d.Paths.Below(req.Path))
	case w == nil || req.Window != 0 && w.View().Window != req.Window:
		return api.Response{}, noWindow(d.Paths.Below(req.Path))
	}
	id, known := s.Peer.Identify(d.Resolver)
	if s.Peer.UID != 0 && (!known || !d.Resolver.Member(w.Holder(), id)) {
		return api.Response{}, &api.Failure{Class: api.ClassDenied, Message: "the window belongs to " + w.View().HolderText() + ": only its holder and root may close it", Next: "run it as root"}
	}
	w.Close(process.Caller{TID: uint32(s.Peer.PID), UID: s.Peer.UID})
	return api.ResultOf(api.RuleWindow{WindowView: w.View(), Ended: w.How()})
}

func noWindow(place string) error {
	return &api.Failure{Class: lease.ClassLockNotHeld, Message: "no maintenance window is open at " + place, Next: "jvsfs status shows those that are open"}
}
