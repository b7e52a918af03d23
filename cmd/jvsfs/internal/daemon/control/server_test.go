package control

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate/process"
)

// pings is a protocol of one operation.
var pings = TableOf(On(ChangesNothing, lockop.Anybody, func(context.Context, *Session, api.Ping) (api.Response, error) { return api.Response{}, nil }),
	On(ChangesNothing, lockop.Anybody, func(context.Context, *Session, api.Status) (api.Response, error) { return api.Response{}, nil }))

// serveTest runs a control server in a directory of the test and returns its
// socket; the server is joined at the end.
func serveTest(t *testing.T, handle func(context.Context, *Session)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	s, err := listenAt(path, pings, nil, zap.NewNop(), handle)
	require.NoError(t, err)
	s.patience = time.Minute // a test on a busy machine may take a while from a connection to its request
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	return path
}

func connect(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.UnixConn)
}

func answerOf(t *testing.T, c net.Conn) api.Response {
	t.Helper()
	line, err := api.ReadLine(bufio.NewReader(c), api.MaxResponse)
	require.NoError(t, err)
	var resp api.Response
	require.NoError(t, json.Unmarshal(line, &resp))
	return resp
}

func TestControlServerKnowsThePeerAndTheProcessNamed(t *testing.T) {
	type seen struct {
		pid, named int
		uid        uint32
		alive      bool
	}
	got := make(chan seen, 1)
	path := serveTest(t, func(_ context.Context, s *Session) {
		named, err := process.PIDOfPidfd(s.Pidfd)
		if err != nil {
			named = -1
		}
		got <- seen{s.Peer.PID, named, s.Peer.UID, s.Peer.Alive()}
		_ = s.Send(api.Response{Event: api.EventResult})
	})
	c := connect(t, path)
	fd, err := process.OpenPidfd(os.Getppid())
	require.NoError(t, err)
	defer host.CloseFile(fd)
	_, _, err = c.WriteMsgUnix([]byte(`{"version":1,"op":"ping"}`+"\n"), unix.UnixRights(int(fd.Fd())), nil)
	require.NoError(t, err)
	require.Equal(t, api.EventResult, answerOf(t, c).Event)
	require.Equal(t, seen{os.Getpid(), os.Getppid(), uint32(os.Getuid()), true}, <-got)
}

func TestControlServerAnswersNonsense(t *testing.T) {
	path := serveTest(t, func(context.Context, *Session) { panic("must not be reached") })
	for _, line := range []string{"nonsense\n", `{"version":9,"op":"ping"}` + "\n", strings.Repeat("x", api.MaxRequest+5000)} {
		c := connect(t, path)
		_, _ = c.Write([]byte(line)) // the server may hang up before it has read all
		resp := answerOf(t, c)
		require.NotNil(t, resp.Error)
		require.Equal(t, api.ClassUsage, resp.Error.Class)
	}
}

func TestControlServerTellsTheHandlerThatTheClientLeft(t *testing.T) {
	left := make(chan struct{})
	path := serveTest(t, func(ctx context.Context, _ *Session) { <-ctx.Done(); close(left) })
	c := connect(t, path)
	_, err := c.Write([]byte(`{"version":1,"op":"ping"}` + "\n"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	<-left
}

func TestControlServerEndsWithOpenConnections(t *testing.T) {
	path := serveTest(t, func(ctx context.Context, _ *Session) { <-ctx.Done() })
	connect(t, path) // says nothing
	c := connect(t, path)
	_, err := c.Write([]byte(`{"version":1,"op":"ping"}` + "\n"))
	require.NoError(t, err)
}

func TestControlServerBoundsConnectionsOfOneUser(t *testing.T) {
	s := &Server{users: map[uint32]int{}}
	for range maxPerUser {
		require.True(t, s.enter(1000))
	}
	require.False(t, s.enter(1000))
	require.True(t, s.enter(1001))
	require.True(t, s.enter(0), "root is never shut out")
	s.leave(1000)
	require.True(t, s.enter(1000))
	for range maxOfRoot - 1 {
		require.True(t, s.enter(0))
	}
	require.False(t, s.enter(0), "but by a loop of its own")
}

// The sessions of root are besides those of the others: each jvsfs exec of root keeps one.
func TestControlServerServesUsersBesideRoot(t *testing.T) {
	s := &Server{users: map[uint32]int{}}
	for range maxSessions {
		require.True(t, s.enter(0))
	}
	require.True(t, s.enter(1000))
	s.leave(0)
	s.leave(1000)
	for range maxSessions {
		require.True(t, s.enter(uint32(2000+s.total)))
	}
	require.False(t, s.enter(1000))
}

// Who is not heard is counted: a loop that speaks nonsense is to be seen somewhere.
func TestControlServerCountsWhomItTurnsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := listenAt(path, pings, metrics.NewCounts(), zap.NewNop(), func(context.Context, *Session) { panic("must not be reached") })
	require.NoError(t, err)
	s.patience = time.Minute
	s.users[uint32(os.Getuid())] = maxOfRoot - 2
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() { cancel(); require.NoError(t, <-done) }()
	first, second := connect(t, path), connect(t, path) // say nothing for now
	require.Eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.users[uint32(os.Getuid())] == maxOfRoot }, time.Minute, time.Millisecond)
	require.Equal(t, "too many control connections", answerOf(t, connect(t, path)).Error.Message)
	for _, c := range []net.Conn{first, second} {
		_, err := c.Write([]byte("nonsense\n"))
		require.NoError(t, err)
		require.Equal(t, api.ClassUsage, answerOf(t, c).Error.Class)
	}
	require.EqualValues(t, 1, s.counts.Turned[metrics.TurnedLimit].Load())
	require.EqualValues(t, 2, s.counts.Turned[metrics.TurnedInvalid].Load())
}

// A mount that is made while the daemon of another one ends may get its device number, and
// so the name of its socket: that stays.
func TestAnEndingDaemonLeavesTheNextOnesSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	begin := func() (end func()) {
		s, err := listenAt(path, pings, metrics.NewCounts(), zap.NewNop(), func(context.Context, *Session) {})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		return func() { cancel(); require.NoError(t, <-done) }
	}
	endOld := begin()
	endNew := begin()
	endOld()
	connect(t, path)
	endNew()
	require.NoFileExists(t, path, "its own socket goes with it")
}

// A command of another release learns that it is one, and what to do: a newer one, with an
// operation, a version of one or a field that this daemon does not have.
func TestACommandOfAnotherReleaseIsToldSo(t *testing.T) {
	path := serveTest(t, nil)
	for line, says := range map[string]string{
		`{"version":1,"op":"defragment","level":3}`:           `unknown operation "defragment"`,
		`{"version":7,"op":"status","of":{"colour":"green"}}`: `protocol version 7 of "status", this daemon speaks 1`,
	} {
		c := connect(t, path)
		_, err := c.Write([]byte(line + "\n"))
		require.NoError(t, err)
		f := answerOf(t, c).Error
		require.NotNil(t, f)
		require.Equal(t, api.ClassUsage, f.Class)
		require.Contains(t, f.Message, says)
		require.Contains(t, f.Message, "different releases")
		require.Equal(t, api.NextOfOlderDaemon, f.Next)
	}
	older := notUnderstood(otherRelease{op: "status", theirs: 1, ours: 2})
	require.Contains(t, older.Message, `protocol version 1 of "status", this daemon speaks 2`)
	require.Equal(t, api.NextOfOlderCommand, older.Next)
}
