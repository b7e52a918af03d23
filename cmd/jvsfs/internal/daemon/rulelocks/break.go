package rulelocks

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// AnswerBreak takes the lock file of a rule from its holder. The answer is the lock as it was.
func (d *Locks) AnswerBreak(ctx context.Context, s *control.Session, req api.BreakRule) (api.Response, error) {
	p := d.book.Rules().At(req.Path)
	all := slices.Concat(p.Locks, p.Guards)
	n := slices.IndexFunc(all, func(i lockfile.Instance) bool { return i.ID() == req.Instance })
	if n < 0 {
		return api.Response{}, api.Usagef("no rule %s says anything of %s", req.Instance, req.Path)
	}
	was, err := d.book.Break(ctx, all[n], req.Tenure, process.Caller{TID: uint32(s.Peer.PID), UID: s.Peer.UID})
	switch {
	case errors.Is(err, tenure.ErrFree):
		return api.Response{}, &api.Failure{Class: lease.ClassLockNotHeld, Message: "nobody holds " + was.Lock, Next: "take it as its program does"}
	case errors.Is(err, tenure.ErrWindow):
		return api.Response{}, &api.Failure{
			Class: lease.ClassLockConflict, Message: "a maintenance window of " + was.HolderText() + " is open for " + was.Lock,
			Next: "wait until it is over, or jvsfs rules close " + human.Typed(d.Paths.Below(req.Path)),
		}
	case errors.Is(err, tenure.ErrAnother):
		return api.Response{}, &api.Failure{Class: lease.ClassLockConflict, Message: was.Lock + " has changed hands since it was shown", Next: "try again"}
	case errors.Is(err, unix.EROFS):
		return api.Response{}, &api.Failure{Class: gate.ClassReadOnly, Message: "the mount is read-only for everybody", Next: "jvsfs enforce " + d.Paths.Mountpoint() + " enforce"}
	case err != nil:
		return api.Response{}, err
	}
	d.Log.Warn("lock file broken by hand", zap.String("lock", was.ID), zap.String("by", s.Peer.String()))
	return api.ResultOf(was)
}
