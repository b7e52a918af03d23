package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

type rulesBreakCommand struct {
	io   console.Streams
	yes  bool
	json bool
}

func newBreak(io console.Streams) *cobra.Command {
	c := &rulesBreakCommand{io: io}
	cmd := &cobra.Command{
		Use: "break PATH", Short: "Take a lock file from its holder, and remove it",
		Long: `Take a lock file that a rule tells of from its holder, whatever the rule says, and
remove it. PATH is the lock file, or what it guards. The holder loses what the lock
guards at once, and stays out until it takes the lock anew. Only root and the user
that mounted may do that. The audit chain has a record of it.`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return c.run(ctx, args[0]) }),
	}
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask; rob the holder that is shown")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *rulesBreakCommand) run(ctx context.Context, path string) error {
	if c.json && !c.yes {
		return &api.Failure{Class: api.ClassUsage, Message: "with --json nobody is asked", Next: "say --yes, after a look at jvsfs explain"}
	}
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		return noRulesAt(t, err, path+" is on no jvsfs mount: no rule is in force there", "remove the lock file by hand")
	}
	v, err := lockToBreak(ctx, t)
	if err != nil {
		return err
	}
	if err = c.consent(ctx, v); err != nil {
		return err
	}
	resp, err := client.Ask(ctx, t.Mount, api.BreakRule{Where: api.Where{Path: t.Rel}, Instance: v.ID, Tenure: v.Tenure}, nil, nil)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(resp.Result, &v); err != nil {
		return err
	}
	if c.json {
		return human.PrintJSON(c.io.Out, v)
	}
	_, err = fmt.Fprintf(c.io.Out, "broke %s: removed %s of %s\n", human.Printable(v.ID), human.Printable(v.Lock), human.Printable(v.HolderText()))
	return err
}

// lockToBreak is the one lock that is meant by a path.
func lockToBreak(ctx context.Context, t client.Target) (v tenure.View, err error) {
	pid, err := host.AskingProcess()
	if err != nil {
		return v, err
	}
	x, err := client.Explain(ctx, t, api.Process{PID: pid})
	if err != nil {
		return v, err
	}
	taken := slices.DeleteFunc(slices.Clone(x.Rules), func(v tenure.View) bool { return v.State == tenure.StateFree })
	switch {
	case len(x.Rules) == 0:
		return v, &api.Failure{Class: api.ClassUsage, Message: "no rule tells of a lock for " + t.Path, Next: "jvsfs rules " + human.Typed(t.Mount.Mountpoint) + " lists the rules"}
	case len(taken) == 0:
		return v, &api.Failure{Class: lease.ClassLockNotHeld, Message: "nobody holds " + x.Rules[0].Lock, Next: "there is nothing to break"}
	case len(taken) > 1:
		return v, &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s has more than one lock: %s and %s", t.Path, taken[0].Lock, taken[1].Lock), Next: "name the lock file"}
	}
	return taken[0], nil
}

// consent shows whom a break would rob and asks, unless --yes has said so.
func (c *rulesBreakCommand) consent(ctx context.Context, v tenure.View) error {
	text := fmt.Sprintf("jvsfs: lock %s of rule %s is %s", v.Lock, v.Rule, v.State)
	if v.Holder != nil {
		text += fmt.Sprintf(": %s, %s, since %s", v.HolderText(), v.Holder.ID, v.Since.Local().Format(time.DateTime))
	}
	return consentTo(ctx, c.io, text, c.yes, plea{"a break", "look at whom it robs", "Break it?", "nothing was broken"})
}
