package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// answered is what asking the daemon at a socket comes to, with a request as it stands.
func answered(t *testing.T, path, request string) error {
	t.Helper()
	m := &mountinfo.Info{Mountpoint: "/m"}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return deadMount(m, err)
	}
	defer conn.Close()
	c := &Client{mount: m, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
	_, _ = conn.Write([]byte(request)) // the answer says more than an error here
	_, err = c.Result(api.AnswerTimeout, nil)
	return err
}

// listening hands each connection to f, and ends it.
func listening(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return path
}

// Ctrl-C may come while a command still says what the daemon has told it, before it waits for the next line.
func TestAnInterruptBetweenTwoLinesEndsTheWait(t *testing.T) {
	over := make(chan struct{})
	path := listening(t, func(daemon net.Conn) {
		_, _ = daemon.Write([]byte(`{"version":1,"event":"note","note":"somebody holds it"}` + "\n"))
		<-over
	})
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	c := &Client{mount: &mountinfo.Info{Mountpoint: "/m"}, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn), ping: time.Millisecond}
	ended := make(chan error, 1)
	go func() { // ends with the connection
		_, err := c.Result(0, func(string) { c.Interrupt() })
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(time.Minute): // it has failed
		err = nil
	}
	require.NoError(t, conn.Close())
	close(over)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// A daemon that turns a client away has answered and hung up before the client has asked.
func TestAClientThatIsTurnedAwayReadsTheAnswer(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer l.Close()
	for answer, want := range map[string]string{
		`{"version":1,"event":"result","error":{"message":"too many control connections"}}` + "\n": "too many control connections",
		"": "is dead",
	} {
		conn, err := net.Dial("unix", l.Addr().String())
		require.NoError(t, err)
		daemon, err := l.Accept()
		require.NoError(t, err)
		_, err = daemon.Write([]byte(answer))
		require.NoError(t, err)
		require.NoError(t, daemon.Close())
		c := &Client{mount: &mountinfo.Info{Mountpoint: "/m"}, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
		_, err = c.exchange(api.Ping{}, nil, api.AnswerTimeout, nil)
		require.ErrorContains(t, err, want)
		require.NoError(t, conn.Close())
	}
}

// A daemon that waits for a file system is not stopped: it answers a ping meanwhile. To resume it would be the wrong advice.
func TestADaemonThatWaitsIsNotCalledStopped(t *testing.T) {
	for name, c := range map[string]struct {
		pings bool
		ping  time.Duration // how long it may take: one that answers may need long on a busy machine, and no wait makes a dumb one speak
		class string
		says  string
	}{
		"it waits":   {true, time.Minute, string(api.ClassStoreFailed), "still waits for a file system"},
		"it is dumb": {false, time.Millisecond, string(api.ClassNoMount), "may be stopped"},
	} {
		path := listeningTo(t, c.pings)
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		client := &Client{mount: &mountinfo.Info{Mountpoint: "/m"}, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn), ping: c.ping}
		_, err = client.exchange(api.LookAtLock{}, nil, 10*time.Millisecond, nil)
		f := api.AsFailure(err)
		require.Equal(t, c.class, string(f.Class), name)
		require.Contains(t, f.Message, c.says, name)
		require.Equal(t, !c.pings, strings.Contains(f.Next, "kill -CONT"), name)
		require.NoError(t, conn.Close())
	}
}

// listeningTo answers no request but a ping, if it does, and keeps the connections until the test is over.
func listeningTo(t *testing.T, pings bool) string {
	t.Helper()
	over := make(chan struct{})
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err == nil && pings && strings.Contains(line, `"ping"`) {
					_ = json.NewEncoder(conn).Encode(api.Response{Event: api.EventResult})
				}
				<-over
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); close(over); all.Wait() })
	return path
}

// says answers with a failure.
func says(message, next string) func(net.Conn) {
	return func(c net.Conn) {
		_ = json.NewEncoder(c).Encode(api.Response{Event: api.EventResult, Error: &api.Failure{Message: message, Next: next}})
	}
}

// What is said about a dead mount ends the mount of a living daemon: so only one that nobody
// answers for is called dead.
func TestOnlyAMountWithoutADaemonIsDead(t *testing.T) {
	const ping = `{"version":1,"op":"ping"}` + "\n"
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "killed"), Net: "unix"})
	require.NoError(t, err)
	killed.SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())

	for name, c := range map[string]struct {
		err           error
		state, detail string
		next          string
		answer        bool
	}{
		"too many":     {answered(t, listening(t, says("too many control connections", "try again later")), ping), "silent", "too many control connections", "try again later", true},
		"a newer one":  {answered(t, listening(t, says("bad request: protocol version 9", "")), ping), "silent", "version", "", true},
		"too long":     {answered(t, listening(t, func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte("x"), api.MaxResponse+5000)) }), ping), "silent", "a line of more than", NextOfSilent, false},
		"nonsense":     {answered(t, listening(t, func(c net.Conn) { _, _ = c.Write([]byte("nonsense\n")) }), ping), "silent", "nonsense", "", false},
		"full backlog": {deadMount(&mountinfo.Info{Mountpoint: "/m"}, os.NewSyscallError("connect", unix.EAGAIN)), "silent", "cannot be asked", NextOfSilent, false},
		"hung up":      {answered(t, listening(t, func(net.Conn) {}), ping), "dead", "dead", "jvsfs recover /m", false},
		"killed":       {answered(t, killed.Addr().String(), ping), "dead", "dead", "jvsfs recover /m", false},
		"no socket":    {answered(t, filepath.Join(t.TempDir(), "none"), ping), "dead", "dead", "jvsfs recover /m", false},
	} {
		var st api.MountStatus
		unserved(&st, c.err)
		require.Equal(t, c.state, st.State, "%s: %v", name, c.err)
		require.Contains(t, st.Detail, c.detail, name)
		require.Contains(t, st.Next, c.next, name)
		require.Equal(t, c.answer, IsAnswer(c.err), name)
		require.Equal(t, c.state == "dead", NobodyThere(api.AsFailure(c.err).Err), name)
		if c.state != "dead" {
			require.NotContains(t, st.Next+st.Detail, "recover", name)
			require.NotContains(t, st.Detail, "dead", name)
		}
	}
}

// A daemon of before says no more than that it does not understand: the command says why.
func TestAnOlderDaemonIsNamedAsTheReason(t *testing.T) {
	for _, message := range []string{
		`bad request: unknown operation "handover"`, `bad request: json: unknown field "host"`,
		"bad request: protocol version 2, this daemon speaks 1: the client and the daemon are of different releases",
	} {
		path := listening(t, func(c net.Conn) {
			_ = json.NewEncoder(c).Encode(api.Response{Event: api.EventResult, Error: &api.Failure{Class: api.ClassUsage, Message: message}})
		})
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		c := &Client{mount: &mountinfo.Info{Mountpoint: "/m"}, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
		_, err = c.exchange(api.Handover{Host: "h"}, nil, api.AnswerTimeout, nil)
		require.NoError(t, conn.Close())
		f := api.AsFailure(err)
		require.Equal(t, api.ClassUsage, f.Class)
		require.Contains(t, f.Message, "the daemon of the mount at /m is of another release")
		require.Contains(t, f.Message, message)
		require.Contains(t, f.Next, "jvsfs mount --replace")
	}
}
