package child

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// beginWithTerminal gives the terminal to CMD if nobody else needs it. In a pipeline or a script others share the group that has it (a
// pager beside CMD would be stopped without it); there CMD begins in the background, and gets the terminal when it asks for it.
func (c *Child) beginWithTerminal() error {
	if c.tty == nil {
		return nil
	}
	signal.Ignore(syscall.SIGTTOU) // giving the terminal back later is done from the background
	c.passStops()
	if foreground(c.tty) && slices.Equal(host.Group(syscall.Getpgrp()), []int{os.Getpid()}) {
		return c.lendTerminal()
	}
	return nil
}

func (c *Child) lendTerminal() error {
	c.lent.Store(true)
	return setForeground(c.tty, c.pid)
}

func (c *Child) takeTerminal() (taken bool) {
	if !c.lent.Swap(false) || !c.hasTerminal() {
		return false
	}
	_ = setForeground(c.tty, syscall.Getpgrp()) // the terminal may have hung up
	return true
}

// TakeTerminalAtEnd takes the terminal back from a CMD that has ended.
func (c *Child) TakeTerminalAtEnd() { c.keyed = c.takeTerminal() || c.keyed }

// hasTerminal reports whether the terminal is with CMD or with a job of CMD, and the shell has not taken it meanwhile.
func (c *Child) hasTerminal() bool {
	pgrp, err := unix.IoctlGetInt(int(c.tty.Fd()), unix.TIOCGPGRP)
	if err != nil || pgrp == c.pid {
		return err == nil
	}
	below := host.Descendants(os.Getpid())
	return !slices.ContainsFunc(host.Group(pgrp), func(pid int) bool { return !slices.Contains(below, pid) })
}

// passStops passes Ctrl-Z on to CMD, which may be in another group than the one that has the terminal. This process stops after CMD has.
func (c *Child) passStops() {
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	go func() { // ends with CMD
		for {
			select {
			case <-stops:
				c.Signal(syscall.SIGTSTP)
			case <-c.Ended:
				signal.Stop(stops)
				console.SetAction(syscall.SIGTSTP, nil)
				return
			}
		}
	}()
}

// stopped is called when CMD has stopped. If it only lacks the terminal, it gets it. If a terminal has stopped it, this process stops
// too, so that the shell takes over. Both continue together.
func (c *Child) stopped(by syscall.Signal) {
	if c.tty == nil {
		return
	}
	asks := by == syscall.SIGTTIN || by == syscall.SIGTTOU
	taken := c.takeTerminal()
	if !taken && !asks && by != syscall.SIGTSTP {
		return // who has stopped it lets it go on
	}
	if taken || !asks || !foreground(c.tty) {
		stopSelf(taken || asks)
	}
	if asks && !foreground(c.tty) {
		time.Sleep(askAgain)
	}
	if (taken || asks) && foreground(c.tty) {
		_ = c.lendTerminal() // it may have hung up
	}
	c.Signal(syscall.SIGCONT)
}

// askAgain is how long CMD waits until it asks for the terminal again where this process cannot stop, so that the two do not chase each other.
const askAgain = 250 * time.Millisecond

// stopSelf stops this process until the shell continues it. In an orphaned process group (a session leader) no shell could: there the kernel
// discards SIGTSTP, unlike SIGSTOP, and it returns at once. With all the rest of the group stops, too, as Ctrl-Z would have stopped it, or a read
// of the terminal in the background: a script that waits for this process, for which the shell waits.
//
// The own stop is pending before the others stop: a shell that sees them stop may continue all of them at once (fg), and its SIGCONT must
// find that stop, and take it back.
func stopSelf(all bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop, before := unix.Sigset_t{}, unix.Sigset_t{}
	stop.Val[0] = 1 << (syscall.SIGTSTP - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &stop, &before) != nil {
		return // impossible
	}
	was := console.SetAction(syscall.SIGTSTP, nil)
	console.SignalSelf(syscall.SIGTSTP)
	if all {
		signalOthers(syscall.SIGTSTP)
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) // it stops here
	console.SetAction(syscall.SIGTSTP, &was)
}

// signalOthers sends a signal to the others of this process group.
func signalOthers(s syscall.Signal) {
	for _, pid := range host.Group(syscall.Getpgrp()) {
		if pid != os.Getpid() {
			_ = syscall.Kill(pid, s) // it may have ended
		}
	}
}

// ExitWith is how jvsfs ends after CMD: with that code, or by the signal of a key that has ended CMD, or a wait before or after it. A shell ends
// a loop or a script only if the command in it has died of Ctrl-C, not if it exits with 130, and a script only if it has got the signal itself:
// from a terminal that CMD had alone it did not.
func (c *Child) ExitWith(code api.ExitCode) error {
	if code == api.ExitOK {
		return nil
	}
	f := api.ExitWith(code)
	s := c.Told
	if s == 0 {
		s = c.Status.Signal()
	}
	if c.tty != nil && (s == syscall.SIGINT || s == syscall.SIGQUIT) && code == api.ExitBySignal(s) {
		f.Signal = s
		if c.keyed && c.Told == 0 {
			signalOthers(s)
		}
	}
	return f
}

// foreground reports whether f is a terminal whose foreground group is ours.
func foreground(f *os.File) bool {
	pgrp, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && pgrp == syscall.Getpgrp()
}

func setForeground(tty *os.File, pgrp int) error {
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, pgrp)
}
