package daemon

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
	// A drain waits for writes that are under way, and those for the disk. The manager is
	// asked for more time as long as it lasts, within reason: what is stuck for good is
	// left to its SIGKILL, and to the guardian.
	extendEvery = 5 * time.Second
	extendBy    = 3 * extendEvery
	extendMost  = 5 * time.Minute
)

// service tells the service manager how the mount is doing. The zero value tells nobody.
// Safe for concurrent use.
//
// MAINPID is not sent: the manager has started this process, and it believes root, so
// that the number of another pid namespace would make it watch a stranger.
type service struct {
	socket string
	log    *zap.Logger
}

// TakeService finds the manager, and hides it from the processes that this one starts.
// Only a daemon in the foreground is a service's main process: in the background it may
// have been started by one that has something else to say.
func TakeService(foreground bool) *service {
	s := &service{log: zap.NewNop()}
	if foreground {
		s.socket = os.Getenv(notifyEnv)
	}
	_ = os.Unsetenv(notifyEnv) // fails only for a name that is none
	return s
}

// tell sends a state: lines of NAME=VALUE. Nobody waits for the manager, and a manager
// that does not listen is its own affair.
func (s *service) tell(state ...string) {
	if s.socket == "" {
		return
	}
	if err := s.send(strings.Join(state, "\n")); err != nil {
		s.log.Warn("service manager", zap.Error(err))
	}
}

// send writes one datagram; a name that begins with @ is abstract, for package net too.
func (s *service) send(state string) error {
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

// statusLine is a state for people. What it quotes may have line breaks.
func statusLine(format string, args ...any) string {
	return "STATUS=" + human.Printable(fmt.Sprintf(format, args...))
}

// Ended tells why the daemon has failed, if it has: the service manager shows it.
func (s *service) Ended(err error) {
	if err != nil {
		s.tell(statusLine("%v", err))
	}
}

// draining tells that the end has begun, and asks for time until the function that it
// returns is called.
func (s *service) draining(text string) (end func()) {
	s.tell("STOPPING=1", statusLine("%s", text))
	if s.socket == "" {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); s.extend(stop) }()
	return func() { close(stop); <-stopped }
}

func (s *service) extend(stop <-chan struct{}) {
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
			s.tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
		}
	}
}
