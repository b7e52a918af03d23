package daemon

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

// change says whether a request changes leases or the mode. A daemon that is being replaced leaves such changes
// to the next one.
type change int

const (
	changesNothing change = iota
	changesLeases         // and is soon over: a replacement waits for its end
	waitsLong             // perhaps as long as somebody else holds: the latches of the leases are shut first, or the request is sent on to the new daemon
)

// operation is one row of the control protocol's table.
type operation struct {
	name    string
	version int // of its shape
	change  change
	who     lockop.Who // may: Mounter and Root are checked before the handler, the others in it, because they depend on what is held
	parse   func(api.Line) (api.Body, error)
	instead func(*Daemon, *session) (resp api.Response, is bool, err error) // an answer before everything else; may be nil
	answer  func(*Daemon, context.Context, *session) (api.Response, error)
}

// operations is the control protocol: the request (its type has the name and the validation), what it changes,
// who may send it, whether it is about a worktree, and the handler.
var operations = tableOf(
	onMount(changesNothing, lockop.Anybody, func(*Daemon, context.Context, *session, api.Ping) (api.Response, error) {
		return api.Response{}, nil
	}),
	onMount(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, s *session, _ api.Status) (api.Response, error) {
		return api.ResultOf(d.statusFor(s.peer.UID))
	}),
	onMount(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, _ *session, _ api.Metrics) (api.Response, error) {
		return d.meter.Answer() // open to all: it names the worktrees, as status does, and no holder
	}),
	onMount(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, _ *session, _ api.Config) (api.Response, error) {
		return api.ResultOf(d.cfg.Origins()) // open to all, as status is: it has no secrets
	}),
	onMount(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, s *session, r api.Refusals) (api.Response, error) {
		return d.recent.answerRefusals(s, r)
	}),
	onMount(changesNothing, lockop.Anybody, func(d *Daemon, ctx context.Context, s *session, r api.Events) (api.Response, error) {
		return d.events.Answer(ctx, s.peer.UID, r, d.succession.after())
	}),
	onMount(changesNothing, lockop.Mounter, func(d *Daemon, _ context.Context, _ *session, r api.Doctor) (api.Response, error) {
		return d.answerDoctor(r)
	}),
	onMount(changesNothing, lockop.Root, func(d *Daemon, ctx context.Context, s *session, r api.Retire) (api.Response, error) {
		return d.succession.answerRetire(ctx, s, r)
	}),
	onMount(changesNothing, lockop.Root, func(d *Daemon, _ context.Context, _ *session, r api.Retired) (api.Response, error) {
		return d.succession.answerRetired(r)
	}),
	onMount(changesLeases, lockop.Mounter, func(d *Daemon, _ context.Context, _ *session, _ api.Unmount) (api.Response, error) {
		return d.unmounting.answerUnmount()
	}).unless(func(d *Daemon, s *session) (api.Response, bool, error) {
		if !d.unmounting.isCopy(s.req.(api.Unmount)) {
			return api.Response{}, false, nil
		}
		resp, err := api.ResultOf(api.Unmounted{CopyOf: d.paths.Mountpoint()}) // the client can do that by itself
		return resp, true, err
	}),
	onMount(changesLeases, lockop.Mounter, func(d *Daemon, _ context.Context, _ *session, _ api.Leave) (api.Response, error) {
		return d.runs.answerLeave()
	}),
	onMount(changesLeases, lockop.Mounter, func(d *Daemon, ctx context.Context, s *session, r api.Enforce) (api.Response, error) {
		return d.modes.answerEnforce(ctx, s, r)
	}),
	onMount(changesLeases, lockop.Mounter, func(d *Daemon, ctx context.Context, s *session, r api.BreakRule) (api.Response, error) {
		return d.answerBreakRule(ctx, s, r)
	}),
	onMount(waitsLong, lockop.Mounter, func(d *Daemon, ctx context.Context, s *session, r api.OpenRule) (api.Response, error) {
		return d.answerOpenRule(ctx, s, r)
	}),
	onMount(changesLeases, lockop.HolderOfIt, func(d *Daemon, _ context.Context, s *session, r api.CloseRule) (api.Response, error) {
		return d.answerCloseRule(s, r)
	}),
	onWorktree(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, w *worktree, s *session, r api.Explain) (api.Response, error) {
		return d.leases.explain(w, s, r)
	}).unless(func(d *Daemon, s *session) (api.Response, bool, error) {
		return d.leases.explainBeside(s, s.req.(api.Explain))
	}),
	onWorktree(changesNothing, lockop.Anybody, func(d *Daemon, _ context.Context, w *worktree, s *session, r api.LookAtLock) (api.Response, error) {
		return d.leases.answerLockStatus(w, s, r)
	}),
	onWorktree(waitsLong, lockop.Taker, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Acquire) (api.Response, error) {
		return d.leases.answerAcquire(ctx, w, s, r)
	}),
	onWorktree(waitsLong, lockop.Taker, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Steal) (api.Response, error) {
		return d.leases.answerSteal(ctx, w, s, r)
	}),
	onWorktree(changesLeases, lockop.HolderOfIt, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Renew) (api.Response, error) {
		return d.leases.answerRenew(ctx, w, s, r)
	}),
	onWorktree(changesLeases, lockop.HolderOfIt, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Release) (api.Response, error) {
		return d.leases.answerRelease(ctx, w, s, r)
	}),
	onWorktree(waitsLong, lockop.HolderOfIt, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Watch) (api.Response, error) {
		return d.leases.answerWatch(ctx, w, s, r)
	}),
	onWorktree(changesLeases, lockop.Giver, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Handover) (api.Response, error) {
		return d.leases.answerHandover(ctx, w, s, r)
	}),
	onWorktree(waitsLong, lockop.Quiescer, func(d *Daemon, ctx context.Context, w *worktree, s *session, r api.Quiesce) (api.Response, error) {
		return d.leases.answerQuiesce(ctx, w, s, r)
	}),
)
