package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/lease"
)

// undeliveredPatience bounds the release of a lease that nobody knows of. After a longer wait for the store it lasts until its holder ends.
const undeliveredPatience = 10 * time.Second

// giveBackUndelivered has a lease released again if the client has hung up before it could be told of it: the holder, which may live for days,
// would keep everybody else out and not know. A lease that the holder had before stays: an earlier request was told of it.
func (d *leaseOps) giveBackUndelivered(ctx context.Context, w *leases.Worktree, s *control.Session, grant lease.Grant, again bool) {
	if again || grant.Since != grant.Token {
		w.Share(grant.Token)
		return
	}
	s.Undelivered = func() {
		if w.Shared(grant.Token) {
			return
		}
		leave, err := d.retirement.LetIn(control.ChangesLeases)
		if err != nil {
			return // the next daemon has it now, until its holder ends
		}
		defer leave()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undeliveredPatience)
		defer cancel()
		err = w.Keeper.ReleaseToken(ctx, grant.Token, lease.LossReleased)
		d.log.Info("lease that nobody was told of is given back", zap.String("worktree", string(w.ID)),
			zap.Uint64("token", uint64(grant.Token)), zap.String("holder", grant.Holder.ID()), zap.Error(err))
	}
}
