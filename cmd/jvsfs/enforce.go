package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

// defaultPatience is how long a command waits for what is in flight.
const defaultPatience = 30 * time.Second

type enforceCommand struct {
	asJSON bool
	wait   time.Duration
}

func newEnforceCommand(io stdio) *cobra.Command {
	e := &enforceCommand{}
	cmd := &cobra.Command{
		Use:   "enforce MOUNTPOINT [observe|enforce|readonly]",
		Short: "Show or switch what becomes of writes without the lease",
		Long: `Show what becomes of writes without the lease at a mount, or switch it there (root,
or who mounted).

enforce refuses them. observe decides the same, counts, logs and audits what it
would refuse, and refuses nothing. readonly refuses every write, the holder's
too; the lease stays and is renewed.

When a switch to a stricter mode returns, nothing that only the mode before let
in is in flight any more, stores through mappings included. The switch lasts as
long as the mount: a restart goes back to what is configured.`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return e.run(ctx, io, args)
		},
	}
	cmd.Flags().BoolVar(&e.asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&e.wait, "wait", defaultPatience, "wait this `LONG` for what is in flight")
	return cmd
}

func (e *enforceCommand) run(ctx context.Context, io stdio, args []string) error {
	req := api.Enforce{WaitMS: e.wait.Milliseconds()}
	if e.wait < time.Millisecond {
		return api.Usagef("--wait must be a millisecond at least")
	}
	if len(args) > 1 {
		mode, err := gate.ParseEnforce(args[1])
		if err != nil {
			return api.Usagef("%v", err)
		}
		req.Mode = string(mode)
	}
	t, err := client.Find(ctx, args[0], "")
	if err == nil && t.Mount == nil {
		err = &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("%s is on no jvsfs mount", t.Path), Next: "jvsfs status lists the mounts"}
	}
	if err != nil {
		return err
	}
	resp, err := client.Ask(ctx, t.Mount, req, nil, noteTo(io))
	if err != nil {
		return err
	}
	var a api.EnforceAnswer
	if err := json.Unmarshal(resp.Result, &a); err != nil {
		return err
	}
	if e.asJSON {
		return human.PrintJSON(io.out, a)
	}
	_, err = fmt.Fprint(io.out, a.Text())
	return err
}
