package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// onMount is the row of an operation on the mount as a whole.
func onMount[R api.Body](what change, who lockop.Who, handle func(*Daemon, context.Context, *session, R) (api.Response, error)) operation {
	op := rowOf[R](what, who)
	op.answer = func(d *Daemon, ctx context.Context, s *session) (api.Response, error) {
		return handle(d, ctx, s, s.req.(R))
	}
	return op
}

// located is a request about a worktree: the one in which its path lies.
type located interface {
	api.Body
	In() string
}

// onWorktree is the row of an operation on a worktree.
func onWorktree[R located](what change, who lockop.Who, handle func(*Daemon, context.Context, *worktree, *session, R) (api.Response, error)) operation {
	op := rowOf[R](what, who)
	op.answer = func(d *Daemon, ctx context.Context, s *session) (api.Response, error) {
		req := s.req.(R)
		w, err := d.worktreeAt(req.In(), s.peer.UID)
		if err != nil {
			return api.Response{}, err
		}
		return handle(d, ctx, w, s, req)
	}
	return op
}

func rowOf[R api.Body](what change, who lockop.Who) operation {
	var none R
	return operation{name: none.Op(), version: api.VersionOf(none), change: what, who: who, parse: func(l api.Line) (api.Body, error) {
		var req R
		if err := l.Decode(&req); err != nil {
			return nil, err
		}
		return req, req.Validate()
	}}
}

// unless adds an answer that comes before everything else.
func (op operation) unless(instead func(*Daemon, *session) (resp api.Response, is bool, err error)) operation {
	op.instead = instead
	return op
}

func tableOf(rows ...operation) map[string]*operation {
	all := make(map[string]*operation, len(rows))
	for _, op := range rows {
		all[op.name] = &op
	}
	return all
}

// otherRelease says that the command and this daemon are of different releases. The daemon's operation op has
// version ours; 0 means that it has no such operation.
type otherRelease struct {
	op           string
	theirs, ours int
}

func (o otherRelease) Error() string {
	const why = "the command and the daemon are of different releases; the daemon is of"
	if o.ours == 0 {
		return fmt.Sprintf("%v: unknown operation %q: %s %s", api.ErrRequest, o.op, why, api.Version())
	}
	return fmt.Sprintf("%v: protocol version %d of %q, this daemon speaks %d: %s %s", api.ErrRequest, o.theirs, o.op, o.ours, why, api.Version())
}

// Unwrap makes it a bad request.
func (otherRelease) Unwrap() error { return api.ErrRequest }

// next is the advice: the older of the two must be replaced.
func (o otherRelease) next() string {
	if o.ours > o.theirs {
		return api.NextOfOlderCommand
	}
	return api.NextOfOlderDaemon
}

// parseRequest finds the operation of a request line, and reads the line as its request. It compares the
// versions first, because the meaning of a line of another version is not known here.
func parseRequest(text []byte) (*operation, api.Body, error) {
	line, err := api.ParseLine(text)
	if err != nil {
		return nil, nil, err
	}
	op := operations[line.Op]
	switch {
	case op == nil && line.Version == 0:
		return nil, nil, fmt.Errorf("%w: no operation of the control protocol", api.ErrRequest)
	case op == nil:
		return nil, nil, otherRelease{op: line.Op, theirs: line.Version}
	case line.Version != op.version:
		return nil, nil, otherRelease{op: line.Op, theirs: line.Version, ours: op.version}
	}
	req, err := op.parse(line)
	if err != nil {
		return nil, nil, err
	}
	return op, req, nil
}

// notUnderstood is the answer to a line that is no request of this release.
func notUnderstood(err error) *api.Failure {
	f := &api.Failure{Class: api.ClassUsage, Message: err.Error()}
	if o, is := errors.AsType[otherRelease](err); is {
		f.Next = o.next()
	}
	return f
}

// handle answers one request of the control socket.
func (d *Daemon) handle(ctx context.Context, s *session) {
	resp, err := d.answer(ctx, s)
	resp.Event = api.EventResult
	if errors.Is(err, errWatched) {
		resp.Event, err = api.EventLost, nil
	}
	if resp.Event == api.EventLost && resp.Reason == lease.LossReplaced.Name() {
		return // a watching client finds the new daemon when this connection ends
	}
	resp.Error = api.AsFailure(err)
	d.counts.Answered(s.op.name, resp.Error == nil)
	if err := s.send(resp); err != nil {
		d.log.Info("control answer not delivered", zap.String("op", s.op.name), zap.Error(err))
		if s.unheard != nil {
			s.unheard()
		}
	}
	if _, is := s.req.(api.Unmount); is && resp.Error == nil && resp.Result == nil { // not for a copy
		d.finish()
	}
}

func (d *Daemon) answer(ctx context.Context, s *session) (api.Response, error) {
	if s.op.instead != nil {
		if resp, is, err := s.op.instead(d, s); is {
			return resp, err
		}
	}
	leave, err := d.succession.letIn(s.op.change)
	if err != nil {
		return api.Response{}, err
	}
	defer leave()
	if asks, ok := s.req.(interface{ Asks() bool }); !ok || !asks.Asks() {
		if who := s.op.who; who == lockop.Mounter || who == lockop.Root {
			if _, f := lockop.Authorize(lockop.Plea{Who: who, Op: s.op.name, PeerUID: s.peer.UID, MountUID: uint32(os.Geteuid())}); f != nil {
				return api.Response{}, f
			}
		}
	}
	return s.op.answer(d, ctx, s)
}
