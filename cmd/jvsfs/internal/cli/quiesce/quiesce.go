package quiesce

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// defaultWindow is how long writers wait for the end of a snapshot at most.
const defaultWindow = 30 * time.Second

// quiesceCommand is `quiesce`.
type quiesceCommand struct {
	io    console.Streams
	wait  time.Duration
	lasts time.Duration
}

// New is jvsfs quiesce.
func New(io console.Streams) *cobra.Command {
	q := &quiesceCommand{io: io}
	cmd := &cobra.Command{
		Use:   "quiesce WORKTREE -- CMD [ARG...]",
		Short: "Run CMD, a snapshot, while nothing changes in WORKTREE",
		Long: `Run CMD, which takes a snapshot, while nothing changes in WORKTREE: the writes in
flight have ended, what was stored through mappings is written, all of it is durable,
and every writer waits, the holder of the lease as well. CMD reads through the mount or
from the backing directory. No lease changes hands by it, and none runs out.

If WORKTREE does not come to rest within --wait, or another mount or host holds its
lease, CMD is not run: E_CONSISTENCY_UNAVAILABLE, exit code 18.

The writers go on when CMD has ended, when this command is gone, when the lease is lost,
and after --for at the latest. If CMD was still running then, or if a process has stored
into a file through a mapping meanwhile, what CMD read may be of two states:
E_PARTIAL_SNAPSHOT, exit code 19. CMD gets TERM as soon as that is known, and KILL after
5 s. Throw away what it has made. Otherwise the exit code is that of CMD, or 128+N if
signal N ended it.

CMD and its descendants may not write to WORKTREE: they are refused at once, with EROFS.
They may write everywhere else, also to .jvs of the repository. CMD finds in its
environment: JVSFS_WORKTREE, JVSFS_TOKEN (the fencing token of the state that it reads)
and JVSFS_QUIESCED_UNTIL.

The holder, its user, root and who mounted may do this; while nobody holds the lease,
who may write there.`,
		Args: usage.PlaceAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(); err != nil {
				return err
			}
			return q.run(cmd.Context(), args[0], args[1:])
		},
	}
	cmd.Flags().DurationVar(&q.wait, "wait", flags.DefaultPatience, "wait this `LONG` for writes in flight, and for another snapshot")
	cmd.Flags().DurationVar(&q.lasts, "for", defaultWindow, "writers wait this `LONG` at most")
	return cmd
}

func (q *quiesceCommand) check() error {
	if err := usage.CheckWait(q.wait, time.Millisecond); err != nil {
		return err
	}
	if q.lasts < time.Millisecond || q.lasts > api.MaxWindow {
		return api.Usagef("--for %s: from 1ms to %s", q.lasts, api.MaxWindow)
	}
	return nil
}

func (q *quiesceCommand) run(ctx context.Context, path string, argv []string) error {
	t, err := client.Find(ctx, path, "")
	if err == nil && t.Mount == nil {
		err = &api.Failure{Class: lease.ClassConsistencyUnavailable, Message: fmt.Sprintf("%s is on no jvsfs mount: there is nobody who could make its writers wait", t.Path),
			Next: "jvsfs mount it first"}
	}
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 16)
	console.Hear(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	c, err := child.Start(argv)
	if err != nil {
		return err
	}
	defer c.End()
	return lookup.AboutWorktree(q.around(ctx, t, c, argv, signals), t.Path)
}

// around opens the window, lets CMD go, and closes the window when CMD has ended.
func (q *quiesceCommand) around(ctx context.Context, t client.Target, c *child.Child, argv []string, signals <-chan os.Signal) error {
	w, code, err := q.open(ctx, t, c, argv, signals)
	if err != nil {
		return err
	}
	if code != 0 {
		console.Note(q.io)("interrupted: the command was not started")
		return c.ExitWith(code)
	}
	defer w.conn.Close()
	if err := c.LetGo(child.GoAhead{Environment: w.environment(t), Reads: true}); err != nil {
		return err
	}
	broken := make(chan error, 1)
	go func() { broken <- w.outcome() }() // ends with the connection
	kept := q.supervise(c, broken, signals)
	if kept == nil {
		if err = w.end(); err == nil {
			err = <-broken
		}
	} else {
		err = *kept
	}
	if err != nil {
		return partial(t, err)
	}
	return c.ExitWith(child.ExitCodeOf(c.Status))
}

// supervise waits for the end of CMD. It returns the outcome if that came before.
func (q *quiesceCommand) supervise(c *child.Child, broken <-chan error, signals <-chan os.Signal) (early *error) {
	var kill <-chan time.Time
	for {
		select {
		case s := <-signals:
			c.Signal(s.(syscall.Signal))
		case err := <-broken:
			early, broken = &err, nil
			fmt.Fprintln(q.io.Err, "jvsfs: the worktree did not stand still: ending the command")
			c.Signal(syscall.SIGTERM)
			c.Signal(syscall.SIGCONT) // a stopped process does not see TERM
			kill = time.After(child.KillAfter)
		case <-kill:
			c.Signal(syscall.SIGKILL)
		case <-c.Ended:
			return early
		}
	}
}

// partial is the failure of a window that was broken. A daemon that has gone has let writers go on, or has let
// nobody write: it is not known which.
func partial(t client.Target, err error) error {
	f := api.AsFailure(err)
	if f.Class == lease.ClassPartialSnapshot {
		return f
	}
	return &api.Failure{Class: lease.ClassPartialSnapshot, Err: err, Next: "throw the snapshot away and take it again",
		Message: fmt.Sprintf("it is not known whether %s stood still: %s", t.Path, f.Message)}
}

// openWindow is the connection to which a window belongs.
type openWindow struct {
	conn *client.Client
	api.Window
}

// open waits for the window. A signal ends the wait; then the code says which.
func (q *quiesceCommand) open(ctx context.Context, t client.Target, c *child.Child, argv []string, signals <-chan os.Signal) (*openWindow, api.ExitCode, error) {
	if err := client.Ping(ctx, t.Mount); err != nil {
		return nil, 0, err
	}
	conn, err := client.Dial(ctx, t.Mount)
	if err != nil {
		return nil, 0, err
	}
	w := &openWindow{conn: conn}
	show := console.NewWaits(q.io, lookup.InFlight(t.Mount, "writes in flight"))
	done := make(chan error, 1)
	go func() { // ends with the connection
		done <- show.During(ctx, func() error { return w.ask(q.request(t, argv), show.Note) })
	}()
	code := api.ExitOK
	select {
	case err = <-done:
	case s := <-signals:
		c.Told = s.(syscall.Signal)
		code = api.ExitBySignal(c.Told)
		conn.Interrupt()
		<-done //nolint:errcheck // of a request that was called off
	}
	if err != nil || code != 0 {
		conn.Close()
	}
	return w, code, err
}

func (q *quiesceCommand) request(t client.Target, argv []string) api.Quiesce {
	return api.Quiesce{
		Where: api.Where{Path: t.Rel}, WaitMS: q.wait.Milliseconds(), LastsMS: q.lasts.Milliseconds(),
		Command: human.Shorten(human.Printable(argv[0]), 64),
	}
}

func (w *openWindow) ask(req api.Quiesce, note func(string)) error {
	if err := w.conn.Send(req, nil); err != nil {
		return w.conn.Silence(err)
	}
	resp, err := w.conn.Result(0, note)
	if err != nil {
		return err
	}
	return json.Unmarshal(resp.Result, &w.Window)
}

// outcome waits for the daemon's last word: nil says that nothing has changed.
func (w *openWindow) outcome() error {
	_, err := w.conn.Result(0, nil)
	return err
}

// End says that CMD has ended.
func (w *openWindow) end() error { return w.conn.More() }

func (w *openWindow) environment(t client.Target) map[string]string {
	return map[string]string{
		"JVSFS_WORKTREE": t.Path, "JVSFS_TOKEN": fmt.Sprint(w.Token), "JVSFS_QUIESCED_UNTIL": w.Until.UTC().Format(time.RFC3339Nano),
	}
}
