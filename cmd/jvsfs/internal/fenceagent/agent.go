package fenceagent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Timeout is how long an agent may take. A power switch that asks until a machine is off takes about a minute.
const Timeout = 2 * time.Minute

// environment is all that an agent gets of it.
var environment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/"}

// Agent is a configured agent. Command has the program and its arguments. An argument NAME=VALUE is not given to the program, but
// written to its standard input. {node} and {client} stand for what is to be cut off.
type Agent struct {
	Command []string
	Timeout time.Duration // 0: [Timeout]
	// Run is cmd.Run in a process that collects the ends of all its children. nil: (*exec.Cmd).Run.
	Run func(cmd *exec.Cmd) error
}

// Target is whom to cut off. It comes from a record, so nothing of it is believed.
type Target struct {
	Node     string // the host's name
	Client   string // what the store calls its client; "" = not known
	Worktree string
	Token    uint64
	Gate     uint64 // the inode whose lock keeps others out (LockedFile); 0: the store needs no name of it
}

// The host names and client names that are passed on. None of them can end a line, or look like an option. Their lengths are not in
// the expressions: {0,252} takes more than a millisecond to compile, at the start of every command.
var (
	nodeName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`) })
	clientName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+/,-]*$`) })
)

// The longest of them, in bytes.
const (
	longestNode   = 253
	longestClient = 128
)

func (t Target) check() error {
	if len(t.Node) > longestNode || !nodeName().MatchString(t.Node) {
		return fmt.Errorf("%.80q is no host name that a fence agent can be given", t.Node)
	}
	if len(t.Client) > longestClient || t.Client != "" && !clientName().MatchString(t.Client) {
		return fmt.Errorf("%.80q is no client that a fence agent can be given", t.Client)
	}
	return nil
}

// String is the program's path.
func (a Agent) String() string {
	if len(a.Command) == 0 {
		return "no agent"
	}
	return a.Command[0]
}

// Off cuts t off the store. It returns nil if the agent says that it is done.
func (a Agent) Off(ctx context.Context, t Target) error { return a.do(ctx, "off", t) }

// On lets t in again.
func (a Agent) On(ctx context.Context, t Target) error { return a.do(ctx, "on", t) }

func (a Agent) do(ctx context.Context, action string, t Target) error {
	if err := errors.Join(a.Check(), t.check()); err != nil {
		return err
	}
	limit := a.Timeout
	if limit <= 0 {
		limit = Timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not end within %v, and was killed", a, limit))
	defer cancel()
	args, input := a.words(action, t)
	cmd := exec.CommandContext(ctx, a.Command[0], args...)
	cmd.Env, cmd.Dir = environment, "/"
	cmd.Stdin = strings.NewReader(input)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for what left its process group, and keeps the output open
	KeepDescriptors()
	run := (*exec.Cmd).Run
	if a.Run != nil {
		run = a.Run
	}
	err := run(cmd)
	if ctx.Err() != nil {
		return said(context.Cause(ctx), out.last())
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended well
		err = nil
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return said(fmt.Errorf("%s ended with exit code %d", a, exit.ExitCode()), out.last())
	}
	return said(fmt.Errorf("%s: %w", a, err), out.last())
}

func said(err error, last string) error {
	if last == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, last)
}

// words are the program's arguments, and the lines of its standard input. A line of the configuration takes the place of ours.
func (a Agent) words(action string, t Target) (args []string, input string) {
	fill := strings.NewReplacer("{node}", t.Node, "{client}", t.Client)
	lines := [][2]string{{"action", action}, {"nodename", t.Node}, {"plug", t.Node},
		{"jvsfs_client", t.Client}, {"jvsfs_worktree", t.Worktree}, {"jvsfs_token", fmt.Sprint(t.Token)}}
	if t.Gate != 0 {
		lines = append(lines, [2]string{"jvsfs_gate", fmt.Sprint(t.Gate)})
	}
	if t.Client != "" {
		lines[2][1] = t.Client
	}
	for _, word := range a.Command[1:] {
		name, value, line := strings.Cut(word, "=")
		if !line || strings.HasPrefix(word, "-") {
			args = append(args, fill.Replace(word))
			continue
		}
		lines = set(lines, name, fill.Replace(value))
	}
	var b strings.Builder
	for _, l := range lines {
		if l[1] != "" {
			b.WriteString(l[0] + "=" + l[1] + "\n")
		}
	}
	return args, b.String()
}

func set(lines [][2]string, name, value string) [][2]string {
	for i := range lines {
		if lines[i][0] == name && name != "action" {
			lines[i][1] = value
			return lines
		}
	}
	return append(lines, [2]string{name, value})
}
