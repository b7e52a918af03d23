package main

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
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// child is CMD. It starts as a trampoline that waits until the lease is held. It dies with this process
// (PR_SET_PDEATHSIG), because nobody else watches the lease under which it writes.
type child struct {
	pid    int
	start  uint64
	pidfd  *os.File
	bound  holderProcess      // whose lease it is
	word   *os.File           // the writing end of the trampoline's pipe
	tty    *os.File           // that controls this process, nil when there is none
	lent   atomic.Bool        // the terminal has been given to the child
	ended  chan struct{}      // closed when the child has been waited for
	status syscall.WaitStatus // valid then
	keyed  bool               // it had the terminal when it ended, so keys reached nobody else
	told   syscall.Signal     // that ended this process' own wait, before CMD or after it; 0 for none
	left   bool               // likewise: it has left processes running that are children of this one now
	alone  chan struct{}      // closed when those have ended, too
}

// startChild starts the trampoline in a process group of its own. Until ended is
// closed the pid is the child's.
func startChild(argv []string) (*child, error) {
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
	c := &child{pid: cmd.Process.Pid, word: w, tty: openTerminal(), ended: make(chan struct{}), alone: make(chan struct{})}
	err = c.identify()
	go c.reap() // ends with the child, which ends when the word pipe is closed or it is killed
	if err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// named is the child as requests name it.
func (c *child) named() api.Process { return api.Process{PID: c.pid, Start: c.start, Explicit: true} }

func (c *child) identify() error {
	s, err := process.ReadStat(c.pid)
	if err != nil {
		return err
	}
	c.start = s.Start
	c.pidfd, err = process.OpenPidfd(c.pid)
	return err
}

// letGo lets the trampoline become CMD, with the terminal if it was ours alone.
func (c *child) letGo(word goAhead) error {
	if err := c.beginWithTerminal(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return gob.NewEncoder(c.word).Encode(word)
}

// signal sends a signal to the whole group. It is no error if the group has ended.
func (c *child) signal(s syscall.Signal) { _ = syscall.Kill(-c.pid, s) }

// tell passes on a signal that is not meant to end anything. The terminal sends WINCH to a whole group; USR1 and USR2 end whoever does
// not expect them, and are CMD's alone.
func (c *child) tell(s syscall.Signal) {
	if s == syscall.SIGWINCH {
		c.signal(s)
		return
	}
	_ = unix.PidfdSendSignal(int(c.pidfd.Fd()), s, nil, 0) // it may have ended
}

// end makes sure that the child has ended, takes the terminal back, and frees the
// descriptors.
func (c *child) end() {
	host.CloseFile(c.word)
	select {
	case <-c.ended:
	default:
		c.killUnlessEnded()
	}
	c.takeTerminalAtEnd()
	host.CloseFile(c.tty)
	host.CloseFile(c.pidfd)
}

func (c *child) killUnlessEnded() {
	if c.pidfd != nil {
		_ = unix.PidfdSendSignal(int(c.pidfd.Fd()), unix.SIGKILL, nil, 0)
	} else {
		c.signal(syscall.SIGKILL)
	}
	<-c.ended
}

// adopt makes this process the parent of whatever loses its parent below it.
func (c *child) adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("subreaper: %w", err)
	}
	return nil
}

// reap waits for the child.
func (c *child) reap() {
	defer close(c.alone)
	hang := true
	for running := true; ; {
		pid, status, err := host.NextEnd(hang)
		switch {
		case errors.Is(err, syscall.EINTR):
		case !running && !hang && pid == 0: // the child has ended: is anybody left?
			c.left, hang = err == nil, true
			close(c.ended)
		case err != nil && running:
			c.status = syscall.WaitStatus(api.ExitError << 8)
			close(c.ended)
			return
		case err != nil:
			return
		case !running || pid != c.pid:
		case status.Stopped():
			c.stopped(status.StopSignal())
		default:
			c.status, running, hang = status, false, false
		}
	}
}

// unkillable is how long exec waits for what KILL does not end: another user's process,
// one that hangs in the kernel.
const unkillable = 5 * time.Second
