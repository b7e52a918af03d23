package child

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Child is CMD. It starts as a trampoline that waits until the lease is held. It dies with this process
// (PR_SET_PDEATHSIG), because nobody else watches the lease under which it writes.
type Child struct {
	pid    int
	start  uint64
	Pidfd  *os.File
	Bound  Holder             // whose lease it is
	word   *os.File           // the writing end of the trampoline's pipe
	tty    *os.File           // that controls this process, nil when there is none
	lent   atomic.Bool        // the terminal has been given to the child
	Ended  chan struct{}      // closed when the child has been waited for
	Status syscall.WaitStatus // valid then
	keyed  bool               // it had the terminal when it ended, so keys reached nobody else
	Told   syscall.Signal     // that ended this process' own wait, before CMD or after it; 0 for none
	Left   bool               // likewise: it has left processes running that are children of this one now
	Alone  chan struct{}      // closed when those have ended, too
}

// Start starts the trampoline in a process group of its own. Until ended is
// closed the pid is the child's.
func Start(argv []string) (*Child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer host.CloseFile(r)
	inherited, err := forTrampoline(r)
	if err != nil {
		host.CloseFile(w)
		return nil, err
	}
	defer host.CloseFile(inherited)
	runtime.LockOSThread() // the death signal comes when the thread that forked ends, not the process
	cmd := exec.Command("/proc/self/exe", append([]string{trampolineName, strconv.Itoa(int(inherited.Fd()))}, argv...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		host.CloseFile(w)
		return nil, fmt.Errorf("start: %w", err)
	}
	c := &Child{pid: cmd.Process.Pid, word: w, tty: console.OpenTerminal(), Ended: make(chan struct{}), Alone: make(chan struct{})}
	err = c.identify()
	go c.reap() // ends with the child, which ends when the word pipe is closed or it is killed
	if err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// Named is the child as requests name it.
func (c *Child) Named() api.Process { return api.Process{PID: c.pid, Start: c.start, Explicit: true} }

func (c *Child) identify() error {
	s, err := process.ReadStat(c.pid)
	if err != nil {
		return err
	}
	c.start = s.Start
	c.Pidfd, err = process.OpenPidfd(c.pid)
	return err
}

// LetGo lets the trampoline become CMD, with the terminal if it was ours alone.
func (c *Child) LetGo(word GoAhead) error {
	if err := c.beginWithTerminal(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return gob.NewEncoder(c.word).Encode(word)
}

// Signal sends a signal to the whole group. It is no error if the group has ended.
func (c *Child) Signal(s syscall.Signal) { _ = syscall.Kill(-c.pid, s) }

// Tell passes on a signal that is not meant to end anything. The terminal sends WINCH to a whole group; USR1 and USR2 end whoever does
// not expect them, and are CMD's alone.
func (c *Child) Tell(s syscall.Signal) {
	if s == syscall.SIGWINCH {
		c.Signal(s)
		return
	}
	_ = unix.PidfdSendSignal(int(c.Pidfd.Fd()), s, nil, 0) // it may have ended
}

// End makes sure that the child has ended, takes the terminal back, and frees the
// descriptors.
func (c *Child) End() {
	host.CloseFile(c.word)
	select {
	case <-c.Ended:
	default:
		c.killUnlessEnded()
	}
	c.TakeTerminalAtEnd()
	host.CloseFile(c.tty)
	host.CloseFile(c.Pidfd)
}

func (c *Child) killUnlessEnded() {
	if c.Pidfd != nil {
		_ = unix.PidfdSendSignal(int(c.Pidfd.Fd()), unix.SIGKILL, nil, 0)
	} else {
		c.Signal(syscall.SIGKILL)
	}
	<-c.Ended
}

// Adopt makes this process the parent of whatever loses its parent below it.
func (c *Child) Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("subreaper: %w", err)
	}
	return nil
}

// reap waits for the child.
func (c *Child) reap() {
	defer close(c.Alone)
	hang := true
	for running := true; ; {
		pid, status, err := host.NextEnd(hang)
		switch {
		case errors.Is(err, syscall.EINTR):
		case !running && !hang && pid == 0: // the child has ended: is anybody left?
			c.Left, hang = err == nil, true
			close(c.Ended)
		case err != nil && running:
			c.Status = syscall.WaitStatus(api.ExitError << 8)
			close(c.Ended)
			return
		case err != nil:
			return
		case !running || pid != c.pid:
		case status.Stopped():
			c.stopped(status.StopSignal())
		default:
			c.Status, running, hang = status, false, false
		}
	}
}

// Unkillable is how long exec waits for what KILL does not end: another user's process,
// one that hangs in the kernel.
const Unkillable = 5 * time.Second

// KillAfter is how long CMD has between TERM and KILL once the lease is lost.
const KillAfter = 5 * time.Second

// Terminate asks CMD and all below this process to end.
func (c *Child) Terminate() {
	c.Signal(syscall.SIGTERM)
	host.SignalOthers(c.pid, unix.SIGTERM)
	c.Signal(syscall.SIGCONT) // a stopped process does not see TERM
	host.SignalOthers(c.pid, unix.SIGCONT)
}

// AloneWithin waits up to d for the end of what CMD has left, and reports whether it came.
func (c *Child) AloneWithin(d time.Duration) bool {
	select {
	case <-c.Alone:
		return true
	case <-time.After(d):
		return false
	}
}

// Holder is the process to which the lease is bound, pinned.
type Holder struct {
	api.Process
	FD *os.File
}
