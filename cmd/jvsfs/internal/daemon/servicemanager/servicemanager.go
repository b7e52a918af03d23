package servicemanager

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// notifyEnv names the socket on which a service manager listens, sd_notify(3).
const notifyEnv = "NOTIFY_SOCKET"

const (
	notifyTimeout = time.Second
	// A drain waits for writes in flight, and they wait for the disk. As long as it lasts, the manager is asked
	// for more time, up to a limit. A drain that is stuck for good is left to its SIGKILL, and to the guardian.
	extendEvery = 5 * time.Second
	extendBy    = 3 * extendEvery
	extendMost  = 5 * time.Minute
)

// Service reports the state of the mount to the service manager. The zero value reports nothing. Safe for
// concurrent use.
//
// MAINPID is not sent. The manager has started this process and knows it. It would believe root, and a number
// of another pid namespace would make it watch a stranger.
type Service struct {
	socket string
	log    *zap.Logger
}

// Find finds the manager, and hides it from the processes that this one starts. Only a daemon in the
// foreground is the main process of a service. One in the background may have been started by a service of
// another program.
func Find(foreground bool) *Service {
	s := &Service{log: zap.NewNop()}
	if foreground {
		s.socket = os.Getenv(notifyEnv)
	}
	_ = os.Unsetenv(notifyEnv) // fails only for a name that is none
	return s
}

// LogTo says where failures to reach the manager are logged.
func (s *Service) LogTo(log *zap.Logger) { s.log = log }

// Tell sends a state: lines of NAME=VALUE. It does not wait for the manager. It is no error if nobody listens.
func (s *Service) Tell(state ...string) {
	if s.socket == "" {
		return
	}
	if err := s.send(strings.Join(state, "\n")); err != nil {
		s.log.Warn("service manager", zap.Error(err))
	}
}

// send writes one datagram. A name that begins with @ is abstract, also for package net.
func (s *Service) send(state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the datagram has gone, or not
	if err := conn.SetWriteDeadline(time.Now().Add(notifyTimeout)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(state))
	return err
}

// Status is a state for people, in one line: errors that it quotes may have line breaks.
func Status(format string, args ...any) string {
	return "STATUS=" + human.Printable(fmt.Sprintf(format, args...))
}

// Ended reports why the daemon has failed, if it has. The service manager shows it.
func (s *Service) Ended(err error) {
	if err != nil {
		s.Tell(Status("%v", err))
	}
}

// Draining reports that the end has begun. It asks for time until the returned function is called.
func (s *Service) Draining(text string) (end func()) {
	s.Tell("STOPPING=1", Status("%s", text))
	if s.socket == "" {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); s.extend(stop) }()
	return func() { close(stop); <-stopped }
}

func (s *Service) extend(stop <-chan struct{}) {
	more := time.NewTicker(extendEvery)
	defer more.Stop()
	enough := time.NewTimer(extendMost)
	defer enough.Stop()
	for {
		select {
		case <-stop:
			return
		case <-enough.C:
			return
		case <-more.C:
			s.Tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
		}
	}
}
