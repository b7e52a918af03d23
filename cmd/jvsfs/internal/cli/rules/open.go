package rules

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// defaultRuleWindow is how long a maintenance window is open if nobody says it.
const defaultRuleWindow = 15 * time.Minute

type rulesOpenCommand struct {
	io    console.Streams
	lasts time.Duration
	yes   bool
	json  bool
}

func newOpen(io console.Streams) *cobra.Command {
	c := &rulesOpenCommand{io: io}
	cmd := &cobra.Command{
		Use: "open PATH [-- CMD [ARG...]]", Short: "Open a maintenance window: change what rules protect at a path",
		Long: `Open a maintenance window: for a while the session of who asks, or CMD with what it
starts, changes what rules protect at PATH, and nobody else does. That is what a lock
guards, the lock file itself, and what once, keep and append fix; below PATH too, if it
is a directory. PATH is a lock file, what it guards, or what is fixed.

It is refused while the holder of a lock lives: jvsfs rules break takes the lock away.
While the window is open nobody else takes the lock. The audit chain has a record of it
before it is open, and of how it ended. Without that record there is no window.

It ends with jvsfs rules close, when --for has passed, when its session or CMD has
ended, and with the daemon: after jvsfs recover it is closed. What is in flight under
it ends first. A file that was opened for writing under it is closed for writing.

Only root and the user that mounted may do that. With CMD the exit code is that of
CMD, or 128+N if signal N ended it.`,
		Args: placeAndMaybeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[1:]); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	cmd.Flags().DurationVar(&c.lasts, "for", defaultRuleWindow, "close it after this `LONG` at the latest; at most 24h")
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON; not with CMD")
	return cmd
}

// placeAndMaybeCommand wants a place, and perhaps a command behind a "--".
func placeAndMaybeCommand(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() < 0 && len(args) == 1 {
		return nil
	}
	return usage.PlaceAndCommand(cmd, args)
}

func (c *rulesOpenCommand) check(argv []string) error {
	switch {
	case c.lasts < api.MinRuleWindow || c.lasts > api.MaxRuleWindow:
		return api.Usagef("--for %s: from %s to %s", c.lasts, api.MinRuleWindow, api.MaxRuleWindow)
	case c.json && len(argv) > 0:
		return api.Usagef("--json and a command: the output is that of the command")
	case c.json && !c.yes:
		return &api.Failure{Class: api.ClassUsage, Message: "with --json nobody is asked", Next: "say --yes, after a look at jvsfs explain"}
	}
	return nil
}

func (c *rulesOpenCommand) run(ctx context.Context, path string, argv []string) error {
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		return noWindowAt(path, t, err)
	}
	if err = c.consent(ctx, t, argv); err != nil {
		return err
	}
	req := api.OpenRule{Where: api.Where{Path: t.Rel}, LastsMS: c.lasts.Milliseconds()}
	if len(argv) > 0 {
		return c.around(ctx, t, req, argv)
	}
	w, err := client.AskFor[api.RuleWindow](ctx, t.Mount, req, nil)
	if err != nil {
		return err
	}
	if c.json {
		return human.PrintJSON(c.io.Out, w)
	}
	_, err = fmt.Fprintf(c.io.Out, "opened %s until %s for %s; jvsfs rules close %s ends it\n",
		human.Printable(t.Path), w.Until.Local().Format(time.DateTime), human.Printable(w.HolderText()), human.Typed(t.Path))
	return err
}

func noWindowAt(path string, t client.Target, err error) error {
	return noRulesAt(t, err, path+" is on no jvsfs mount: no rule is in force there", "jvsfs status lists the mounts")
}

// noRulesAt says that a path is on no mount, or that nobody can say where it is.
func noRulesAt(t client.Target, err error, says, next string) error {
	if t.Path == "" && err != nil {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Message: says, Next: next}
}

// consent shows what is protected there and asks, unless --yes has said so.
func (c *rulesOpenCommand) consent(ctx context.Context, t client.Target, argv []string) error {
	pid, err := host.AskingProcess()
	if err != nil {
		return err
	}
	x, err := client.Explain(ctx, t, api.Process{PID: pid})
	if err != nil {
		return err
	}
	who := "this session"
	if len(argv) > 0 {
		who = argv[0]
	}
	text := fmt.Sprintf("jvsfs: for %s, %s alone may change what rules protect at %s", c.lasts, who, t.Path)
	for _, v := range x.Rules {
		text += fmt.Sprintf("; lock %s of rule %s is %s", v.Lock, v.Rule, v.State)
	}
	if len(x.Fixed) > 0 {
		text += "; fixed by " + strings.Join(x.Fixed, ", ")
	}
	return consentTo(ctx, c.io, text, c.yes, plea{"a maintenance window", "look at what it opens", "Open it?", "nothing was opened"})
}

// around opens the window for CMD, lets it go, and closes the window when it has ended.
func (c *rulesOpenCommand) around(ctx context.Context, t client.Target, req api.OpenRule, argv []string) error {
	signals := make(chan os.Signal, 16)
	console.Hear(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	ch, err := child.Start(argv)
	if err != nil {
		return err
	}
	defer ch.End()
	req.Process, req.Purpose = ch.Named(), human.Shorten(human.Printable(argv[0]), 64)
	if err := client.Ping(ctx, t.Mount); err != nil {
		return err
	}
	conn, err := client.Dial(ctx, t.Mount)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Send(req, ch.Pidfd); err != nil {
		return conn.Silence(err)
	}
	if _, err := conn.Result(0, nil); err != nil {
		return err
	}
	if err := ch.LetGo(child.GoAhead{}); err != nil {
		return err
	}
	return c.await(conn, ch, signals)
}

// await waits for CMD, and tells if the window ends before.
func (c *rulesOpenCommand) await(conn *client.Client, ch *child.Child, signals <-chan os.Signal) error {
	over := make(chan error, 1)
	go func() { // ends with the connection
		_, err := conn.Result(0, nil)
		over <- err
	}()
	early := over
	for {
		select {
		case s := <-signals:
			ch.Signal(s.(syscall.Signal))
		case err := <-early:
			early = nil
			console.Note(c.io)("the window is over: the command changes nothing there any more")
			over <- err
		case <-ch.Ended:
			if early != nil {
				_ = conn.More() // the daemon may have seen the end too, and have answered: over says what came of it
			}
			if err := <-over; err != nil {
				return err
			}
			return ch.ExitWith(child.ExitCodeOf(ch.Status))
		}
	}
}
