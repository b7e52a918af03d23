package main

import "context"

// answerWatch reports the loss of a lease that is held already, to one that had watched it
// at a daemon which was killed since.
func (d *daemon) answerWatch(ctx context.Context, w *worktree, s *session) (response, error) {
	losses, done := w.events.subscribe()
	defer done()
	grant, held := w.keeper.Held() // after subscribing: a loss is seen by one of the two
	if _, f := authorize(d.holderPlea(s, grant.Holder, held && grant.Token == s.req.Token)); f != nil {
		return response{}, d.aboutHead(w, f)
	}
	if err := s.send(response{Event: eventResult, Token: grant.Token}); err != nil {
		return response{}, err
	}
	return response{Reason: awaitLoss(ctx, grant.Token, losses)}, errWatched
}
