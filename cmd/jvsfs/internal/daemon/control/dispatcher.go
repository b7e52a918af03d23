package control

import (
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// Dispatcher answers the requests of a table.
type Dispatcher struct {
	Log       *zap.Logger
	Counts    *metrics.Counts
	LetIn     func(Change) (leave func(), err error) // while the request is answered; an error refuses it
	Unmounted func()                                 // the answer to an unmount has been sent
}

// ErrWatched marks the end of a watched lease, whose answer was sent before.
var ErrWatched = errors.New("the watched lease has ended")

// Handle answers one request of the control socket.
func (d *Dispatcher) Handle(ctx context.Context, s *Session) {
	resp, err := d.answer(ctx, s)
	resp.Event = api.EventResult
	if errors.Is(err, ErrWatched) {
		resp.Event, err = api.EventLost, nil
	}
	if resp.Event == api.EventLost && resp.Reason == lease.LossReplaced.Name() {
		return // a watching client finds the new daemon when this connection ends
	}
	resp.Error = api.AsFailure(err)
	d.Counts.Answered(s.Op.Name, resp.Error == nil)
	if err := s.Send(resp); err != nil {
		d.Log.Info("control answer not delivered", zap.String("op", s.Op.Name), zap.Error(err))
		if s.Undelivered != nil {
			s.Undelivered()
		}
	}
	if _, is := s.Req.(api.Unmount); is && resp.Error == nil && resp.Result == nil { // not for a copy
		d.Unmounted()
	}
}

func (d *Dispatcher) answer(ctx context.Context, s *Session) (api.Response, error) {
	if s.Op.instead != nil {
		if resp, is, err := s.Op.instead(s); is {
			return resp, err
		}
	}
	leave, err := d.LetIn(s.Op.Change)
	if err != nil {
		return api.Response{}, err
	}
	defer leave()
	if asks, ok := s.Req.(interface{ Asks() bool }); !ok || !asks.Asks() {
		if who := s.Op.Who; who == lockop.Mounter || who == lockop.Root {
			if _, f := lockop.Authorize(lockop.Plea{Who: who, Op: s.Op.Name, PeerUID: s.Peer.UID, MountUID: uint32(os.Geteuid())}); f != nil {
				return api.Response{}, f
			}
		}
	}
	return s.Op.answer(ctx, s)
}
