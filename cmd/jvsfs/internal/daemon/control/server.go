package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/socket"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

const (
	requestTimeout = 5 * time.Second // to send a request, and to take an answer
	maxSessions    = 256             // connections of all users but root at a time
	maxPerUser     = 64              // of these, by one user other than root
	maxOfRoot      = 1024            // besides: root is shut out by nobody but itself
)

// Session is one accepted connection with its request.
type Session struct {
	Peer  Peer
	Op    *Operation
	Req   api.Body
	Pidfd *os.File // the process that the request names, nil if none came
	// Undelivered undoes what was done, if the client has gone before its answer. nil if nothing is undone then.
	Undelivered func()

	conn *net.UnixConn
	mu   sync.Mutex // orders lines
}

// Send writes one line to the client, within requestTimeout.
func (s *Session) Send(resp api.Response) error {
	resp.Version = api.ProtocolVersion
	line, err := json.Marshal(resp)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	_, err = s.conn.Write(append(line, '\n'))
	return err
}

// Server answers on the control socket of one mount.
type Server struct {
	listener *socket.Listener
	table    Table
	handle   func(context.Context, *Session) // must return soon after its context ends
	log      *zap.Logger
	counts   *metrics.Counts // nil counts nothing
	patience time.Duration   // for a request: requestTimeout

	mu    sync.Mutex
	users map[uint32]int
	total int // of users other than root
}

// Listen makes the socket of a mounted device. A socket file that is there
// already belonged to a daemon that was killed: the device number is ours now.
func Listen(d api.Device, all Table, counts *metrics.Counts, log *zap.Logger, handle func(context.Context, *Session)) (*Server, error) {
	path := host.SocketPath(d)
	if err := host.PrepareSocketDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return listenAt(path, all, counts, log, handle)
}

func listenAt(path string, all Table, counts *metrics.Counts, log *zap.Logger, handle func(context.Context, *Session)) (*Server, error) {
	l, err := socket.ListenInstead(path, 0o666) // everybody may connect; each operation decides by the peer's credentials
	if err != nil {
		return nil, err
	}
	return &Server{listener: l, table: all, counts: counts, handle: handle, log: log, patience: requestTimeout, users: map[uint32]int{}}, nil
}

// acceptPause keeps a failing accept from becoming a busy loop.
const acceptPause = 100 * time.Millisecond

// Run serves until ctx ends. Then it cuts off open connections and waits for their handlers.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() }) // accept reports it
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			cancel()
			return nil
		}
		if err != nil { // no descriptor left, a client that went: the next may be served
			s.log.Warn("control socket", zap.Error(err))
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		all.Go(func() { s.guarded(ctx, conn) })
	}
}

// guarded keeps a panic in one handler from ending the mount for everybody.
func (s *Server) guarded(ctx context.Context, conn *net.UnixConn) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("control session", zap.Any("panic", r), zap.Stack("stack"))
		}
	}()
	s.serve(ctx, conn)
}

func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close() //nolint:errcheck // the answer was sent, or could not be
	p, err := identifyPeer(conn)
	if err != nil {
		s.log.Info("control connection dropped", zap.Error(err))
		return
	}
	defer p.close()
	ses := &Session{Peer: p, conn: conn}
	if !s.enter(p.UID) {
		s.counts.TurnedAway(metrics.TurnedLimit)
		s.reply(ses, api.Response{Event: api.EventResult, Error: &api.Failure{Message: "too many control connections", Next: "try again later"}})
		return
	}
	defer s.leave(p.UID)
	s.converse(ctx, ses)
}

func (s *Server) converse(ctx context.Context, ses *Session) {
	if err := ses.conn.SetReadDeadline(time.Now().Add(s.patience)); err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = ses.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, pidfd, err := receiveRequest(ses.conn)
	if err == nil {
		defer host.CloseFile(pidfd)
		ses.Pidfd = pidfd
		ses.Op, ses.Req, err = s.table.Parse(line)
	}
	if err != nil {
		s.counts.TurnedAway(metrics.TurnedInvalid)
		s.reply(ses, api.Response{Event: api.EventResult, Error: notUnderstood(err)})
		return
	}
	if err := ses.conn.SetReadDeadline(time.Time{}); err != nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { cancel(awaitHangup(ses.conn)) })
	s.handle(ctx, ses)
	_ = ses.conn.SetReadDeadline(time.Unix(1, 0)) // wakes awaitHangup; a closed connection has ended it already
	watch.Wait()
	cancel(nil)
}

// ErrSaidMore is the cause if a session ends because the client has sent anything more.
var ErrSaidMore = errors.New("the client has sent more")

// awaitHangup returns when the client has hung up, has sent anything more, or the read deadline has passed. Either
// ends the session.
func awaitHangup(conn *net.UnixConn) (why error) {
	if n, _ := conn.Read(make([]byte, 1)); n > 0 {
		return ErrSaidMore
	}
	return nil
}

func (s *Server) reply(ses *Session, resp api.Response) {
	if err := ses.Send(resp); err != nil {
		s.log.Debug("control answer not delivered", zap.Error(err))
	}
}

func (s *Server) enter(uid uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uid != 0 && (s.users[uid] >= maxPerUser || s.total >= maxSessions) || s.users[0] >= maxOfRoot && uid == 0 {
		return false
	}
	s.users[uid]++
	if uid != 0 {
		s.total++
	}
	return true
}

func (s *Server) leave(uid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uid != 0 {
		s.total--
	}
	if s.users[uid]--; s.users[uid] == 0 {
		delete(s.users, uid)
	}
}
