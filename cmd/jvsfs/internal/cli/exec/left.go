package exec

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

const (
	// leftGrace is how long what CMD has left running has to end by itself.
	leftGrace = 250 * time.Millisecond
	// killAgain is how often KILL is sent to who has forked meanwhile.
	killAgain = 20 * time.Millisecond
)

// finish is what follows the end of CMD. reason is why the lease was lost, "" if it was not.
func (e *Command) finish(h holding, c *child.Child, signals <-chan os.Signal, reason string) (api.ExitCode, error) {
	if e.Over != nil {
		defer func() { e.Over(reason != "") }()
	}
	code := child.ExitCodeOf(c.Status)
	if reason != "" {
		c.Signal(syscall.SIGKILL) // what is left of the group
		code = api.ExitLeaseLost
	}
	if !c.Left {
		return code, nil
	}
	c.TakeTerminalAtEnd()
	if reason == "" && e.Linger {
		var early api.ExitCode
		if reason, early = e.await(h, c, signals); early != 0 {
			code = early
		}
	}
	e.endLeft(c, signals, reason)
	return code, nil
}

// await waits for what CMD has left. If the lease is lost before that, it returns why; then, or
// when a signal ends the wait, code is the one to exit with.
func (e *Command) await(h holding, c *child.Child, signals <-chan os.Signal) (reason string, code api.ExitCode) {
	if !c.AloneWithin(leftGrace) {
		console.Note(e.IO)("the command has ended; the lease is held until what it has left running ends: " + leftText())
	}
	for {
		select {
		case <-c.Alone:
			return "", 0
		case s := <-signals:
			host.SignalDescendants(s.(syscall.Signal)) // a shell starts what it does not wait for deaf to ^C
			c.Told = s.(syscall.Signal)
			return "", api.ExitBySignal(c.Told)
		case why := <-h.lost():
			return why, api.ExitLeaseLost
		}
	}
}

// endLeft ends what CMD has left, as the loss of the lease ends CMD.
func (e *Command) endLeft(c *child.Child, signals <-chan os.Signal, reason string) {
	if c.AloneWithin(leftGrace) {
		return
	}
	text := "ending what the command has left running"
	switch {
	case reason != "":
		text = "the lease was lost (" + reason + "): " + text
	case !e.Linger:
		text += " (--linger waits for it)"
	}
	console.Note(e.IO)(text + ": " + leftText())
	host.SignalDescendants(unix.SIGTERM)
	host.SignalDescendants(unix.SIGCONT)
	kill, over := time.After(child.KillAfter), time.After(child.KillAfter+child.Unkillable)
	var again <-chan time.Time
	for {
		select {
		case <-c.Alone:
			return
		case s := <-signals:
			host.SignalDescendants(s.(syscall.Signal))
		case <-kill:
			again = time.After(0)
		case <-again:
			host.SignalDescendants(unix.SIGKILL)
			again = time.After(killAgain)
		case <-over:
			console.Note(e.IO)("these do not end, and have no lease any more: " + leftText())
			return
		}
	}
}

// leftText names what is left, the first few of it.
func leftText() string {
	return human.Some(host.Descendants(os.Getpid()), 5, func(pid int) string { return fmt.Sprintf("%d (%s)", pid, human.Shorten(host.CommandLine(pid), 40)) })
}
