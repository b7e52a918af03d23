package daemon

import (
	"context"
	"slices"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

// located is a request about a worktree: the one in which its path lies.
type located interface {
	api.Body
	In() string
}

// onWorktree is the row of an operation on a worktree.
func onWorktree[R located](d *Daemon, what control.Change, who lockop.Who, handle func(context.Context, *leases.Worktree, *control.Session, R) (api.Response, error)) control.Operation {
	return control.On(what, who, func(ctx context.Context, s *control.Session, req R) (api.Response, error) {
		w, err := d.answers.finder.at(req.In(), s.Peer.UID)
		if err != nil {
			return api.Response{}, err
		}
		return handle(ctx, w, s, req)
	})
}

// operations is the control protocol: the request (its type has the name and the validation), what it changes,
// who may send it, whether it is about a worktree, and the handler.
func (d *Daemon) operations() control.Table {
	return control.TableOf(slices.Concat(d.ofMount(), d.ofLocks(), d.ofWorktrees())...)
}

// ofMount are the operations on the mount as a whole.
func (d *Daemon) ofMount() []control.Operation {
	return []control.Operation{
		control.On(control.ChangesNothing, lockop.Anybody, func(context.Context, *control.Session, api.Ping) (api.Response, error) {
			return api.Response{}, nil
		}),
		control.On(control.ChangesNothing, lockop.Anybody, func(_ context.Context, s *control.Session, _ api.Status) (api.Response, error) {
			return api.ResultOf(d.statusFor(s.Peer.UID))
		}),
		control.On(control.ChangesNothing, lockop.Anybody, func(_ context.Context, _ *control.Session, _ api.Metrics) (api.Response, error) {
			return d.meter.Answer() // open to all: it names the worktrees, as status does, and no holder
		}),
		control.On(control.ChangesNothing, lockop.Anybody, func(_ context.Context, _ *control.Session, _ api.Config) (api.Response, error) {
			return api.ResultOf(d.given.cfg.Origins()) // open to all, as status is: it has no secrets
		}),
		control.On(control.ChangesNothing, lockop.Anybody, func(_ context.Context, s *control.Session, r api.Refusals) (api.Response, error) {
			return d.answers.recent.answerRefusals(s, r)
		}),
		control.On(control.ChangesNothing, lockop.Anybody, func(ctx context.Context, s *control.Session, r api.Events) (api.Response, error) {
			return d.events.Answer(ctx, s.Peer.UID, r, d.predecessors.After())
		}),
		control.On(control.ChangesNothing, lockop.Mounter, func(_ context.Context, _ *control.Session, r api.Doctor) (api.Response, error) {
			return d.answers.doctor.answer(r)
		}),
		control.On(control.ChangesNothing, lockop.Root, func(ctx context.Context, s *control.Session, r api.Retire) (api.Response, error) {
			return d.retirement.Begin(ctx, s.Send, r)
		}),
		control.On(control.ChangesNothing, lockop.Root, func(_ context.Context, _ *control.Session, r api.Retired) (api.Response, error) {
			return d.retirement.Finish(r)
		}),
		control.On(control.ChangesLeases, lockop.Mounter, func(_ context.Context, _ *control.Session, _ api.Unmount) (api.Response, error) {
			return api.Response{}, d.unmounting.byRequest()
		}).Unless(func(s *control.Session) (api.Response, bool, error) {
			if !d.unmounting.isCopy(s.Req.(api.Unmount)) {
				return api.Response{}, false, nil
			}
			resp, err := api.ResultOf(api.Unmounted{CopyOf: d.given.paths.Mountpoint()}) // the client can do that by itself
			return resp, true, err
		}),
		control.On(control.ChangesLeases, lockop.Mounter, func(_ context.Context, _ *control.Session, _ api.Leave) (api.Response, error) {
			return d.runs.answerLeave()
		}),
		control.On(control.ChangesLeases, lockop.Mounter, d.answers.modes.answerEnforce),
	}
}

// ofLocks are the operations on lock files that rules know.
func (d *Daemon) ofLocks() []control.Operation {
	return []control.Operation{
		control.On(control.ChangesLeases, lockop.Mounter, d.has.ruleLocks.AnswerBreak),
		control.On(control.WaitsLong, lockop.Mounter, d.has.ruleLocks.AnswerOpen),
		control.On(control.ChangesLeases, lockop.HolderOfIt, func(_ context.Context, s *control.Session, r api.CloseRule) (api.Response, error) {
			return d.has.ruleLocks.AnswerClose(s, r)
		}),
	}
}

// ofWorktrees are the operations on a worktree and its lease.
func (d *Daemon) ofWorktrees() []control.Operation {
	return []control.Operation{
		onWorktree(d, control.ChangesNothing, lockop.Anybody, func(_ context.Context, w *leases.Worktree, s *control.Session, r api.Explain) (api.Response, error) {
			return d.answers.explaining.explain(w, s, r)
		}).Unless(func(s *control.Session) (api.Response, bool, error) {
			return d.answers.explaining.explainBeside(s, s.Req.(api.Explain))
		}),
		onWorktree(d, control.ChangesNothing, lockop.Anybody, func(_ context.Context, w *leases.Worktree, s *control.Session, r api.LookAtLock) (api.Response, error) {
			return d.answers.leases.answerLockStatus(w, s, r)
		}),
		onWorktree(d, control.WaitsLong, lockop.Taker, d.answers.leases.answerAcquire),
		onWorktree(d, control.WaitsLong, lockop.Taker, d.answers.leases.answerSteal),
		onWorktree(d, control.ChangesLeases, lockop.HolderOfIt, d.answers.leases.answerRenew),
		onWorktree(d, control.ChangesLeases, lockop.HolderOfIt, d.answers.leases.answerRelease),
		onWorktree(d, control.WaitsLong, lockop.HolderOfIt, d.answers.leases.answerWatch),
		onWorktree(d, control.ChangesLeases, lockop.Giver, d.answers.leases.answerHandover),
		onWorktree(d, control.WaitsLong, lockop.Quiescer, d.answers.windows.answerQuiesce),
	}
}
