package mount

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

type enforceCommand struct {
	asJSON bool
	wait   time.Duration
}

// NewEnforce is jvsfs enforce.
func NewEnforce(io console.Streams) *cobra.Command {
	e := &enforceCommand{}
	cmd := &cobra.Command{
		Use:   "enforce MOUNTPOINT [observe|enforce|readonly]",
		Short: "Show or switch how a mount treats writes without the lease",
		Long: `Show how a mount treats writes without the lease, or switch it. Root and the user
who mounted can switch.

enforce refuses such writes. observe refuses nothing; it counts, logs and audits
what enforce would refuse. readonly refuses every write, also the holder's; the
lease stays and is renewed.

When a switch to a stricter mode returns, no write is in flight that only the former
mode allowed, stores through mappings included. The switch lasts as long as the
mount. A restart returns to the configured mode.`,
		Args: usage.Args(cobra.RangeArgs(1, 2)),
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return e.run(ctx, io, args) }),
	}
	cmd.Flags().BoolVar(&e.asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&e.wait, "wait", flags.DefaultPatience, "wait this `LONG` for writes in flight")
	return cmd
}

func (e *enforceCommand) run(ctx context.Context, io console.Streams, args []string) error {
	req := api.Enforce{WaitMS: e.wait.Milliseconds()}
	if err := usage.CheckWait(e.wait, time.Millisecond); err != nil {
		return err
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
	if req.Mode != "" && t.Path != t.Mount.Mountpoint && t.Path != t.Mount.Source {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%s is only a part of the mount at %s, which has one mode", t.Path, t.Mount.Mountpoint),
			Next: fmt.Sprintf("jvsfs enforce %s %s switches all of it", human.Typed(t.Mount.Mountpoint), req.Mode)}
	}
	var resp api.Response
	show := console.NewWaits(io, lookup.InFlight(t.Mount, "the switch"))
	err = show.During(ctx, func() error {
		resp, err = client.Ask(ctx, t.Mount, req, nil, show.Note)
		return err
	})
	if err != nil {
		return console.Interrupted(err, lookup.ModeNow(t.Mount))
	}
	var a api.EnforceAnswer
	if err := json.Unmarshal(resp.Result, &a); err != nil {
		return err
	}
	if e.asJSON {
		return human.PrintJSON(io.Out, a)
	}
	_, err = fmt.Fprint(io.Out, a.Text())
	return err
}
