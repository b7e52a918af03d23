package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Client is one connection to the daemon of a mount: one request.
type Client struct {
	mount *mountinfo.Info
	conn  *net.UnixConn
	in    *bufio.Reader
	stop  func() bool
	ping  time.Duration // how long answersPing waits; 0: pingPatience

	interrupted atomic.Bool // Next waits for nothing more
}

// Dial connects to the daemon of a mount. If nobody answers, the mount is dead: an E_NO_MOUNT failure.
// Cancelling ctx ends the connection.
func Dial(ctx context.Context, m *mountinfo.Info) (*Client, error) {
	if host.IsForeign(m) {
		return nil, ofAnotherUser(m)
	}
	d := net.Dialer{Timeout: api.AnswerTimeout}
	conn, err := d.DialContext(ctx, "unix", host.SocketOf(m))
	if err != nil {
		return nil, askKernel(ctx, m, err)
	}
	c := &Client{mount: m, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
	if err := c.isServed(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // the pending read reports it
	return c, nil
}

// askKernel returns the error for a mount whose daemon cannot be reached. If nobody listens at the socket, the
// kernel decides whether the mount is dead.
func askKernel(ctx context.Context, m *mountinfo.Info, err error) *api.Failure {
	if !NobodyThere(err) {
		return deadMount(m, err)
	}
	short, cancel := context.WithTimeout(ctx, connectionPatience)
	defer cancel()
	state, _ := ConnectionOf(short, m)
	if state == ConnectionSilent && errors.Is(err, os.ErrNotExist) {
		state = ConnectionUp // a killed daemon leaves its socket, and there is none here: the daemon is stopped
	}
	if state != ConnectionUp {
		return deadMount(m, err) // if the kernel cannot be asked, only the socket tells
	}
	socket := host.SocketOf(m)
	if host.IsOwnMount(m) {
		return &api.Failure{
			Class: api.ClassNoMount, File: socket, Err: fmt.Errorf("%w: %v", errUnseen, err), //nolint:errorlint // the cause must not say that nobody listens
			Message: fmt.Sprintf("the mount at %s is alive, but its daemon cannot be asked from here: nobody listens at %s", m.Mountpoint, socket),
			Next:    "set XDG_RUNTIME_DIR as it was at the mount, which says where its daemon listens",
		}
	}
	return &api.Failure{
		Class: api.ClassNoMount, File: socket, Err: fmt.Errorf("%w: %v", errUnseen, err), //nolint:errorlint // the cause must not say that nobody listens
		Message: fmt.Sprintf("the mount at %s is alive, but its daemon cannot be asked from here: nobody listens at %s, which is another one where the daemon runs (a container, or another mount namespace)", m.Mountpoint, socket),
		Next:    fmt.Sprintf("run it where the mount was made, or bind %s from there to here", host.SocketDir),
	}
}

// A mount that somebody may be serving is not called dead: the advice for a dead mount would end it.
func deadMount(m *mountinfo.Info, err error) *api.Failure {
	f := &api.Failure{
		Class: api.ClassNoMount, File: host.SocketOf(m), Err: err,
		Message: fmt.Sprintf("the mount at %s is dead: its daemon does not answer; reads and writes there fail", m.Mountpoint),
		Next:    fmt.Sprintf("jvsfs recover %s; or jvsfs umount --bare %s, which bares the directory below, and mount again", m.Mountpoint, m.Mountpoint),
	}
	if host.IsOwnMount(m) { // only root recovers
		f.Next = fmt.Sprintf("jvsfs umount --bare %s, which bares the directory below, and mount again", m.Mountpoint)
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		f.Message = fmt.Sprintf("the daemon of the mount at %s may not be talked to", m.Mountpoint)
		f.Next = "run it as root"
	case !NobodyThere(err):
		f.Message = fmt.Sprintf("the daemon of the mount at %s cannot be asked: %v", m.Mountpoint, err)
		f.Next = NextOfSilent
	}
	return f
}

// endings are the errors of asking a daemon that has ended: nobody listens any more, or the listener has hung
// up.
var endings = []error{unix.ECONNREFUSED, os.ErrNotExist, unix.ECONNRESET, unix.EPIPE, io.EOF}

// NobodyThere reports whether an error of asking says that there is no daemon.
func NobodyThere(err error) bool {
	return slices.ContainsFunc(endings, func(end error) bool { return errors.Is(err, end) })
}

// IsAnswer reports whether an error is the answer of a daemon. Then the daemon lives.
func IsAnswer(err error) bool {
	var f *api.Failure
	return errors.As(err, &f) && f.Answer
}

// Close ends the connection.
func (c *Client) Close() {
	c.stop()
	_ = c.conn.Close() // nothing is buffered; the daemon sees the end either way
}

// longAgo as a deadline ends a wait at once.
var longAgo = time.Unix(1, 0)

// Interrupt ends the wait for the daemon's next line, and each later one. Safe for concurrent use with Next.
func (c *Client) Interrupt() {
	c.interrupted.Store(true)
	_ = c.conn.SetReadDeadline(longAgo) // a closed connection has ended the wait already
}

// Send writes the request, with the descriptor of the process that it names, if it names one.
func (c *Client) Send(req api.Body, pidfd *os.File) error {
	line, err := api.Encode(req)
	if err != nil {
		return err
	}
	var oob []byte
	if pidfd != nil {
		oob = unix.UnixRights(int(pidfd.Fd()))
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(api.AnswerTimeout)); err != nil {
		return err
	}
	n, _, err := c.conn.WriteMsgUnix(line, oob, nil)
	if err == nil && n < len(line) {
		_, err = c.conn.Write(line[n:])
	}
	return err
}

// More sends one more byte: the request is over, and the daemon is to say its last word.
func (c *Client) More() error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(api.AnswerTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write([]byte{'\n'})
	return err
}

// Next reads the next line of the daemon; timeout 0 waits for ever.
func (c *Client) Next(timeout time.Duration) (api.Response, error) {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return api.Response{}, err
	}
	if c.interrupted.Load() { // between two lines: the deadline of Interrupt has just been undone
		_ = c.conn.SetReadDeadline(longAgo) // it could be set a moment ago
	}
	line, err := api.ReadLine(c.in, api.MaxResponse)
	switch {
	case err == nil:
	case c.interrupted.Load(): // nobody asks why it was silent
		return api.Response{}, err
	default:
		return api.Response{}, c.Silence(err)
	}
	var resp api.Response
	if err := json.Unmarshal(line, &resp); err != nil {
		return api.Response{}, fmt.Errorf("the daemon of %s answered nonsense: %w", c.mount.Mountpoint, err)
	}
	return resp, nil
}

// NextOfSilent is the advice for a daemon that does not answer.
const NextOfSilent = "resume it (kill -CONT), or end it and see jvsfs doctor"

// Silence explains a daemon that does not answer.
func (c *Client) Silence(err error) error {
	f := deadMount(c.mount, err)
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
	case c.answersPing():
		f.Class, f.Message = api.ClassStoreFailed, fmt.Sprintf("the daemon of the mount at %s%s runs, and still waits for a file system: that of the lease records, or of the files",
			c.mount.Mountpoint, c.daemonText())
		f.Next = "look at that file system: its servers, its client on this host, and the network between them (jvsfs status)"
	default:
		f.Message = fmt.Sprintf("the daemon of the mount at %s%s does not answer: it may be stopped", c.mount.Mountpoint, c.daemonText())
		f.Next = NextOfSilent
	}
	return f
}

// pingPatience is for an answer that needs nothing but the daemon.
const pingPatience = 2 * time.Second

// answersPing reports whether the daemon lives, though this connection has no answer yet.
func (c *Client) answersPing() bool {
	patience := cmp.Or(c.ping, pingPatience)
	conn, err := net.DialTimeout("unix", c.conn.RemoteAddr().String(), patience)
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // nothing is buffered
	other := &Client{mount: c.mount, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
	if other.Send(api.Ping{}, nil) != nil || other.conn.SetReadDeadline(time.Now().Add(patience)) != nil {
		return false
	}
	_, err = api.ReadLine(other.in, api.MaxResponse)
	return err == nil
}

func (c *Client) daemonText() string {
	if who, err := c.peer(); err == nil {
		return fmt.Sprintf(" (pid %d)", who.Pid)
	}
	return ""
}

// peer is the process that listens, as the kernel says it.
func (c *Client) peer() (who *unix.Ucred, err error) {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return who, errors.Join(failed, err)
}

// Result waits for the answer to the request. It passes the lines before it to note. If the answer is a
// failure, Result returns that.
func (c *Client) Result(timeout time.Duration, note func(string)) (api.Response, error) {
	for {
		resp, err := c.Next(timeout)
		if err != nil {
			return api.Response{}, err
		}
		if resp.Note != "" && note != nil {
			note(resp.Note)
		}
		if resp.Event != api.EventResult {
			continue
		}
		if resp.Error != nil {
			resp.Error.Answer = true
			return resp, resp.Error
		}
		return resp, nil
	}
}

// Ask sends one request and waits for its answer; a request that waits for a
// lease has no time limit of its own here.
func Ask(ctx context.Context, m *mountinfo.Info, req api.Body, pidfd *os.File, note func(string)) (api.Response, error) {
	if Patient(req) {
		if err := Ping(ctx, m); err != nil {
			return api.Response{}, err
		}
	}
	c, err := Dial(ctx, m)
	if err != nil {
		return api.Response{}, err
	}
	defer c.Close()
	timeout := api.AnswerTimeout
	if Patient(req) {
		timeout = 0
	}
	resp, err := c.exchange(req, pidfd, timeout, note)
	if err != nil && ctx.Err() != nil {
		return api.Response{}, ctx.Err()
	}
	return resp, err
}

// AskFor is Ask for what the answer says.
func AskFor[T any](ctx context.Context, m *mountinfo.Info, req api.Body, pidfd *os.File) (said T, err error) {
	resp, err := Ask(ctx, m, req, pidfd, nil)
	if err == nil {
		err = json.Unmarshal(resp.Result, &said)
	}
	return said, err
}

// exchange sends a request and waits for its answer. The answer may come although the daemon has not read the
// request: that is how it turns a client away.
func (c *Client) exchange(req api.Body, pidfd *os.File, timeout time.Duration, note func(string)) (api.Response, error) {
	sent := c.Send(req, pidfd)
	if sent != nil {
		timeout = api.AnswerTimeout
	}
	resp, err := c.Result(timeout, note)
	err = c.otherRelease(req, err)
	if sent != nil && err != nil && !IsAnswer(err) {
		err = c.Silence(sent)
	}
	return resp, err
}

// Patient reports whether the answer to a request may take any time.
func Patient(req api.Body) bool {
	p, ok := req.(api.Patient)
	return ok && p.Patient()
}

// otherRelease explains why the daemon does not understand a request. A daemon of the command's own release
// understands all of them, so it is of another one. Older daemons only say that they do not understand.
func (c *Client) otherRelease(req api.Body, err error) error {
	var f *api.Failure
	if !errors.As(err, &f) || !f.Answer || f.Class != api.ClassUsage || f.Next != "" || !strings.HasPrefix(f.Message, api.ErrRequest.Error()) {
		return err
	}
	if req.Validate() != nil { // a daemon of this release says the same
		return err
	}
	f.Message = fmt.Sprintf("the daemon of the mount at %s is of another release and does not understand %q as this command asks it: %s", c.mount.Mountpoint, req.Op(), f.Message)
	f.Next = api.NextOfOlderDaemon
	return f
}

// Ping makes sure that the daemon of a mount answers.
func Ping(ctx context.Context, m *mountinfo.Info) error {
	_, err := Ask(ctx, m, api.Ping{}, nil, nil)
	return err
}
