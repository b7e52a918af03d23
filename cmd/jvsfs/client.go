package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// client is one connection to the daemon of a mount: one request.
type client struct {
	mount *mountinfo.Info
	conn  *net.UnixConn
	in    *bufio.Reader
	stop  func() bool
}

// dial connects to the daemon of a mount. A mount that nobody answers for is
// dead: an E_NO_MOUNT failure. Cancelling ctx ends the connection.
func dial(ctx context.Context, m *mountinfo.Info) (*client, error) {
	d := net.Dialer{Timeout: answerTimeout}
	conn, err := d.DialContext(ctx, "unix", socketPath(deviceOf(m)))
	if err != nil {
		return nil, deadMount(m, err)
	}
	c := &client{mount: m, conn: conn.(*net.UnixConn), in: bufio.NewReader(conn)}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // the pending read reports it
	return c, nil
}

// One that somebody may be serving is not called so: the way out of a dead mount would
// end it.
func deadMount(m *mountinfo.Info, err error) *failure {
	f := &failure{
		Class: classNoMount, File: socketPath(deviceOf(m)), err: err,
		Message: fmt.Sprintf("the mount at %s is dead: its daemon does not answer; reads and writes there fail", m.Mountpoint),
		Next:    fmt.Sprintf("jvsfs recover %s; or jvsfs umount --bare %s, which bares the directory below, and mount again", m.Mountpoint, m.Mountpoint),
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		f.Message = fmt.Sprintf("the daemon of the mount at %s may not be talked to", m.Mountpoint)
		f.Next = "run it as root"
	case !nobodyThere(err):
		f.Message = fmt.Sprintf("the daemon of the mount at %s cannot be asked: %v", m.Mountpoint, err)
		f.Next = nextOfSilent
	}
	return f
}

// endings are how asking a daemon fails that has ended: nobody listens any more, or who
// did has hung up.
var endings = []error{unix.ECONNREFUSED, os.ErrNotExist, unix.ECONNRESET, unix.EPIPE, io.EOF}

// nobodyThere tells whether an error of asking says that there is no daemon.
func nobodyThere(err error) bool {
	return slices.ContainsFunc(endings, func(end error) bool { return errors.Is(err, end) })
}

// isAnswer tells whether an error is what a daemon has said, which then lives.
func isAnswer(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.answer
}

func (c *client) close() {
	c.stop()
	_ = c.conn.Close() // nothing is buffered; the daemon sees the end either way
}

// interrupt ends the wait for the daemon's next line.
func (c *client) interrupt() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) }

// send writes the request, with the descriptor of the process it names if any.
func (c *client) send(req request, pidfd *os.File) error {
	req.Version = protocolVersion
	line, err := json.Marshal(req)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if len(line) > maxRequest {
		return usagef("the request is too long")
	}
	var oob []byte
	if pidfd != nil {
		oob = unix.UnixRights(int(pidfd.Fd()))
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	n, _, err := c.conn.WriteMsgUnix(line, oob, nil)
	if err == nil && n < len(line) {
		_, err = c.conn.Write(line[n:])
	}
	return err
}

// next reads the next line of the daemon; timeout 0 waits for ever.
func (c *client) next(timeout time.Duration) (response, error) {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return response{}, err
	}
	line, err := readLine(c.in, maxResponse)
	if err != nil {
		return response{}, c.silence(err)
	}
	var resp response
	if err := json.Unmarshal(line, &resp); err != nil {
		return response{}, fmt.Errorf("the daemon of %s answered nonsense: %w", c.mount.Mountpoint, err)
	}
	return resp, nil
}

// nextOfSilent is what to do about a daemon that does not answer.
const nextOfSilent = "resume it (kill -CONT), or end it and see jvsfs doctor"

// silence explains a daemon that does not answer.
func (c *client) silence(err error) error {
	f := deadMount(c.mount, err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f.Message = fmt.Sprintf("the daemon of the mount at %s%s does not answer: it may be stopped", c.mount.Mountpoint, c.daemonText())
		f.Next = nextOfSilent
	}
	return f
}

func (c *client) daemonText() string {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return ""
	}
	text := ""
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			text = fmt.Sprintf(" (pid %d)", cred.Pid)
		}
	})
	if err != nil {
		return ""
	}
	return text
}

// result waits for the answer to the request; lines before it go to stderr by
// note. A failed answer is returned as the failure it carries.
func (c *client) result(timeout time.Duration, note func(string)) (response, error) {
	for {
		resp, err := c.next(timeout)
		if err != nil {
			return response{}, err
		}
		if resp.Note != "" && note != nil {
			note(resp.Note)
		}
		if resp.Event != eventResult {
			continue
		}
		if resp.Error != nil {
			resp.Error.answer = true
			return resp, resp.Error
		}
		return resp, nil
	}
}

// ask sends one request and waits for its answer; a request that waits for a
// lease has no time limit of its own here.
func ask(ctx context.Context, m *mountinfo.Info, req request, pidfd *os.File, note func(string)) (response, error) {
	if req.patient() {
		if err := ping(ctx, m); err != nil {
			return response{}, err
		}
	}
	c, err := dial(ctx, m)
	if err != nil {
		return response{}, err
	}
	defer c.close()
	timeout := answerTimeout
	if req.patient() {
		timeout = 0
	}
	resp, err := c.exchange(req, pidfd, timeout, note)
	if err != nil && ctx.Err() != nil {
		return response{}, ctx.Err()
	}
	return resp, err
}

// exchange sends a request and waits for its answer, which may be there although the request
// was not read: so a client is turned away.
func (c *client) exchange(req request, pidfd *os.File, timeout time.Duration, note func(string)) (response, error) {
	sent := c.send(req, pidfd)
	if sent != nil {
		timeout = answerTimeout
	}
	resp, err := c.result(timeout, note)
	if sent != nil && err != nil && !isAnswer(err) {
		err = c.silence(sent)
	}
	return resp, err
}

// ping makes sure that the daemon of a mount answers.
func ping(ctx context.Context, m *mountinfo.Info) error {
	_, err := ask(ctx, m, request{Op: opPing}, nil, nil)
	return err
}
