package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// consent shows whom a steal would rob and asks, unless --yes has said so. It returns the token to which the
// user agreed; 0 stands for any holder. It notes whether there is anybody to rob.
func (f *lockFlags) consent(ctx context.Context, std stdio, t client.Target, policy record.Policy) (lease.Token, error) {
	if f.asJSON && !f.yes {
		return 0, &api.Failure{Class: api.ClassUsage, Message: "--json cannot ask", Next: "say --yes, after a look at jvsfs lock status"}
	}
	st, err := statusForSteal(ctx, t, policy)
	if err != nil {
		return 0, err
	}
	switch st.State {
	case lease.Free.String(), lease.Unreadable.String():
		f.robsNobody = true
		return 0, nil // nobody is robbed, or the steal itself says why it cannot be
	}
	if _, err := io.WriteString(std.err, robbedText(st, time.Now())); err != nil {
		return 0, err
	}
	switch {
	case f.yes:
		return 0, nil
	case !isTerminal(std.in) || !isTerminal(std.err):
		return 0, &api.Failure{Class: api.ClassUsage, Message: "a steal wants an answer, and there is no terminal to ask on",
			Next: "look at whom it robs, then say --yes"}
	}
	yes, err := askYes(ctx, std, "Steal it? [y/N] ")
	if err != nil {
		return 0, err
	}
	if !yes {
		return 0, &api.Failure{Message: "nothing was stolen"}
	}
	return st.Token, nil
}

func statusForSteal(ctx context.Context, t client.Target, policy record.Policy) (st api.LockStatus, err error) {
	var resp api.Response
	if t.Mount != nil {
		resp, err = client.Ask(ctx, t.Mount, api.LookAtLock{Where: api.Where{Path: t.Rel}}, nil, nil)
	} else {
		resp, err = lockop.PeekStatus(t.Place, policy, api.LookAtLock{})
	}
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(resp.Result, &st)
}

// robbedText shows all that is known of a holder, so that a person can decide whether to rob it.
func robbedText(st api.LockStatus, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "jvsfs: the lease of %s is %s", st.Worktree, st.State)
	if st.Reason != "" {
		fmt.Fprintf(&b, ": %s", human.Printable(st.Reason))
	}
	b.WriteByte('\n')
	rec := api.RecordOf(st.Record)
	if rec == nil {
		return b.String()
	}
	h := rec.Holder()
	scope := h.Scope
	if h.Auto {
		scope += ", taken by writing"
	}
	for _, row := range [][2]string{
		{"holder", h.ID()}, {"scope", scope}, {"host", hostText(h)}, {"purpose", h.Purpose}, {"token", fmt.Sprint(rec.FencingToken)},
		{"since", rec.CreatedAt.Local().Format(time.DateTime)},
		{"until", fmt.Sprintf("%s (%s)", rec.ExpiresAt().Local().Format(time.DateTime), human.Left(rec.ExpiresAt().Sub(now)))},
		{"process", processText(h)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", row[0], human.Printable(row[1]))
		}
	}
	return b.String()
}

func hostText(h lease.Holder) string {
	switch {
	case h.Host == "":
		return ""
	case h.Host == process.HostName():
		return h.Host + " (this one, by its name)"
	}
	return h.Host
}

// processText says whether the holder's process lives, which only its own machine knows.
func processText(h lease.Holder) string {
	if h.PID == 0 {
		return "none is bound to the lease"
	}
	text := map[lease.Liveness]string{
		lease.Alive: "is alive", lease.Stopped: "is stopped", lease.Gone: "has ended", lease.Unknown: "cannot be seen from here",
	}[gate.Liveness(h)]
	return fmt.Sprintf("%d %s", h.PID, text)
}

// isTerminal reports whether a stream of a command is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// askYes asks on the terminal. The end of the input is a no, a signal ends the command.
func askYes(ctx context.Context, std stdio, question string) (bool, error) {
	if _, err := io.WriteString(std.err, question); err != nil {
		return false, err
	}
	line, err := readAnswer(ctx, std.in)
	if !strings.HasSuffix(line, "\n") {
		_, _ = io.WriteString(std.err, "\n") // the cursor stands behind the question
	}
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// answerPoll is how soon a signal ends the wait for an answer, in milliseconds.
const answerPoll = 100

// readAnswer reads one line of a terminal, which gives lines as a whole. It never blocks
// in read(2), which a signal to another thread would not end.
func readAnswer(ctx context.Context, in *os.File) (string, error) {
	fd := int(in.Fd())
	buf := make([]byte, 256)
	for ctx.Err() == nil {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, answerPoll)
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return "", os.NewSyscallError("poll", err)
		}
		n, err = unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EIO) || err == nil && n == 0: // the terminal has hung up, or ^D
			return "", nil
		case err != nil:
			return "", os.NewSyscallError("read", err)
		}
		return string(buf[:n]), nil
	}
	return "", ctx.Err()
}
