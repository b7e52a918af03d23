package daemon

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

// answerWatch reports the loss of a lease that is held already. It is for a client that watched the lease at a
// daemon that was killed since.
func (d *leaseOps) answerWatch(ctx context.Context, w *worktree, s *session, req api.Watch) (api.Response, error) {
	losses, done := w.events.subscribe()
	defer done()
	grant, held := w.keeper.Held() // after subscribing: a loss is seen by one of the two
	if _, f := lockop.Authorize(d.holderPlea(s, req.Process, grant.Holder, held && grant.Token == req.Token)); f != nil {
		return api.Response{}, d.aboutHead(w, f)
	}
	if err := s.send(api.Response{Event: api.EventResult, Token: grant.Token}); err != nil {
		return api.Response{}, err
	}
	return api.Response{Reason: awaitLoss(ctx, grant.Token, losses)}, errWatched
}
