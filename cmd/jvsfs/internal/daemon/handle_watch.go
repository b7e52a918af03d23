package daemon

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

// answerWatch reports the loss of a lease that is held already. It is for a client that watched the lease at a
// daemon that was killed since.
func (d *leaseOps) answerWatch(ctx context.Context, w *leases.Worktree, s *control.Session, req api.Watch) (api.Response, error) {
	losses, done := w.Losses()
	defer done()
	grant, held := w.Keeper.Held() // after subscribing: a loss is seen by one of the two
	if _, f := lockop.Authorize(d.holderPlea(s, req.Process, grant.Holder, held && grant.Covers(req.Token))); f != nil {
		return api.Response{}, w.AboutHead(f)
	}
	resp, err := d.leased(w, s, grant)
	if err != nil {
		return resp, err
	}
	if req.Explicit { // exec that took it, not one inside of that
		defer w.Exec.Begin(grant.Since)()
	}
	resp.Event = api.EventResult
	if err := s.Send(resp); err != nil {
		return resp, err
	}
	return api.Response{Reason: w.AwaitLoss(ctx, grant, losses)}, control.ErrWatched
}
