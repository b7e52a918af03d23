package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// New is jvsfs exec.
func New(io console.Streams) *cobra.Command {
	e := &Command{IO: io}
	cmd := &cobra.Command{
		Use:   "exec WORKTREE -- CMD [ARG...]",
		Short: "Hold the lease while CMD runs",
		Long: `Hold the lease of WORKTREE while CMD runs, for CMD and its descendants.

CMD runs in a process group of its own. INT, TERM, HUP, QUIT and WINCH are passed on to
that group, USR1 and USR2 to CMD alone. CMD has the terminal if exec is alone in its
job; in a pipeline or a script it gets it when it asks for it. If the lease is lost, CMD
and its descendants get TERM, and KILL after 5 s; the exit code is then 75. A lease is
not lost if CMD was paused beyond it and nobody has taken it, see jvsfs-lease(7).
Otherwise the exit code is that of CMD, or 128+N if signal N ended it. It is 126 if CMD
cannot be run, and 127 if CMD is not found. At a terminal exec dies of Ctrl-C as CMD
does, also while it waits itself, so that a loop or a script around it ends, too.

What CMD starts belongs to it, even if it has lost its parent (a double fork: git's
background runs, servers). When CMD has ended, exec ends what is left in the same way,
still under the lease. With --linger exec waits for it, or for
a signal, and holds the lease meanwhile.

With --cgroup CMD runs in a cgroup of its own below this one. Whoever is in that cgroup
is the holder, whatever session or terminal it has made. This needs root, or a delegated
cgroup and a mount with scope cgroup.

If the process that holds WORKTREE's lease has started this command (another exec, a
shell that acquired it), CMD runs under that lease: exec takes nothing, and gives
nothing back at the end. --wait, --steal, --scope and --purpose have no effect then.
The same holds for lock acquire and lock release inside CMD. Who counts as the holder
only by its user, session, cgroup or mount waits for its turn.

If the working directory is in the bare tree beneath the mount, because it was entered
before the mount was made, CMD runs in the same directory through the mount.

CMD finds in its environment: JVSFS_WORKTREE (the directory), JVSFS_HOLDER (the
holder's id), JVSFS_TOKEN (the fencing token), and JVSFS_MOUNT (the mount point;
not set if no mount fences the worktree).

With --notify exec runs a line of shell, beside CMD and not under its lease, when CMD or
what it started is refused a write, on any mount. JVSFS_EVENT has the latest refusal, as
a line of jvsfs watch --json, and JVSFS_EVENTS the number of refusals since the run
before. It runs at most once a second, never twice at a time, and is killed after a
minute. exec does not wait for it at its end.`,
		Args: usage.PlaceAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usage.CheckWait(e.Wait, 0); err != nil {
				return err
			}
			return e.Run(cmd.Context(), args[0], args[1:])
		},
	}
	e.AddFlags(cmd.Flags())
	cmd.Flags().DurationVar(&e.Wait, "wait", 0, "wait this `LONG` for the lease to become free")
	cmd.Flags().BoolVar(&e.steal, "steal", false, "take the lease over if it has expired, and skew and grace have passed")
	cmd.Flags().BoolVar(&e.Linger, "linger", false, "hold the lease until everything that CMD left running has ended, too")
	cmd.Flags().BoolVar(&e.cgroup, "cgroup", false, "run CMD in a cgroup of its own; whoever is in it is the holder (scope cgroup)")
	cmd.Flags().StringVar(&e.scope, "scope", "", "`WHO` counts as the holder (default: as configured, or tree)")
	cmd.Flags().StringVar(&e.notify, "notify", "", "run `LINE` with sh -c, beside CMD, when what CMD started is refused a write")
	cmd.Flags().StringVar(&e.Purpose, "purpose", "", "`WHAT` the lease is for, shown to others (default: CMD)")
	return cmd
}

// Run holds the lease of the worktree at path while argv runs.
func (e *Command) Run(ctx context.Context, path string, argv []string) error {
	if err := e.settleScope(); err != nil {
		return err
	}
	control, terms, err := e.Load()
	if err != nil {
		return err
	}
	t, err := client.Find(ctx, path, control)
	if err != nil {
		return err
	}
	if e.Purpose == "" {
		e.Purpose = human.Shorten(human.Printable(argv[0]), 64)
	}
	signals := make(chan os.Signal, 16)
	console.Hear(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	unnotify, err := e.startNotifier()
	if err != nil {
		return err
	}
	defer unnotify()
	leave, err := e.enterCgroup()
	if err != nil {
		return err
	}
	defer leave()
	return lookup.AboutWorktree(e.holdFor(ctx, t, terms, argv, signals), t.Path)
}

// holdFor runs CMD and holds the lease for it.
func (e *Command) holdFor(ctx context.Context, t client.Target, terms lockop.Terms, argv []string, signals <-chan os.Signal) error {
	began := time.Now()
	e.show = console.NewWaits(e.IO, lookup.LeaseHeld(t))
	c, err := child.Start(argv)
	if err != nil {
		return err
	}
	if err := e.bind(c); err != nil {
		c.End()
		return err
	}
	var h holding
	if t.Mount != nil {
		h = e.remote(t, c)
	} else {
		h = e.local(t, terms, c)
	}
	code, err := e.supervise(ctx, h, c, signals)
	c.End()
	e.sayRefused(ctx, began)
	if err = errors.Join(err, ignoreNotHeld(h.release())); err != nil {
		return err
	}
	return c.ExitWith(code)
}

// supervise acquires, lets the child go, and waits for its end or the loss of the
// lease.
func (e *Command) supervise(ctx context.Context, h holding, c *child.Child, signals <-chan os.Signal) (api.ExitCode, error) {
	if code, err := e.acquire(ctx, h, c, signals); err != nil || code != 0 {
		return code, err
	}
	words := make(chan os.Signal, 16) // what they mean is for CMD to say, and they end nothing here
	signal.Notify(words, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	defer signal.Stop(words)
	if err := e.letGo(c, h); err != nil {
		return 0, err
	}
	var reason string
	var kill <-chan time.Time
	for {
		select {
		case s := <-signals:
			c.Signal(s.(syscall.Signal))
		case s := <-words:
			c.Tell(s.(syscall.Signal))
		case why := <-h.lost():
			if why == lease.LossHolderGone.Name() || reason != "" {
				continue // the child has ended, and will be waited for
			}
			reason = why
			fmt.Fprintf(e.IO.Err, "jvsfs: the lease was lost (%s): ending the command\n", why)
			c.Terminate()
			kill = time.After(child.KillAfter)
		case <-kill:
			c.Signal(syscall.SIGKILL)
		case <-c.Ended:
			return e.finish(h, c, signals, reason)
		}
	}
}

// LetGo tells CMD what it holds and where it stands.
func (e *Command) letGo(c *child.Child, h holding) error {
	dir, err := e.reentered()
	if err != nil {
		return err
	}
	if !h.held().Joined { // else what CMD leaves belongs to its holder, not to us
		if err := c.Adopt(); err != nil {
			return err
		}
	}
	if dir != "" {
		console.Note(e.IO)("this shell stands beneath the mount: the command runs in " + dir + " through it, as after cd \"$PWD\"")
	}
	if e.Began != nil {
		e.Began(h.held())
	}
	return c.LetGo(child.GoAhead{Environment: h.held().Environment(), Directory: dir, Enter: e.Dir})
}

// reentered is the directory that CMD enters anew because this process stands beneath the mount, "" for none.
func (e *Command) reentered() (string, error) {
	if e.Dir != "" {
		return "", nil
	}
	return child.Beneath()
}

// acquire waits for the lease; a signal or the end of the child ends the wait.
func (e *Command) acquire(ctx context.Context, h holding, c *child.Child, signals <-chan os.Signal) (api.ExitCode, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- e.show.During(ctx, func() error { return h.acquire(ctx) }) }()
	select {
	case err := <-done:
		return 0, err
	case s := <-signals:
		cancel()
		<-done //nolint:errcheck // of a request that was called off
		console.Note(e.IO)("interrupted: the command was not started")
		c.Told = s.(syscall.Signal)
		return api.ExitBySignal(c.Told), nil
	case <-c.Ended:
		cancel()
		<-done //nolint:errcheck // of a request that was called off
		return child.ExitCodeOf(c.Status), nil
	}
}

// ignoreNotHeld accepts that a lease is gone already when it is given back: its
// holder has ended, and the daemon may have noticed first.
func ignoreNotHeld(err error) error {
	if f := api.AsFailure(err); f != nil && (f.Class == lease.ClassLockNotHeld || f.Class == api.ClassNoMount) {
		return nil
	}
	return err
}
