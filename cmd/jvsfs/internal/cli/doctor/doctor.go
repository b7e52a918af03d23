package doctor

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/doctor"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/lease/record"
)

type doctorCommand struct {
	flags.Records
	strict bool
	repair lockdir.Repair
	asJSON bool
}

// New is jvsfs doctor.
func New(io console.Streams) *cobra.Command {
	d := &doctorCommand{}
	cmd := &cobra.Command{
		Use: "doctor [PATH...]", Short: "Check leases, records, mounts, clock and kernel",
		Long: `Check the kernel, the limits, the clock, the configuration files, the mounts, who can
write past them, and the lease records. With PATH it looks at the mounts and records of
these worktrees or repositories alone, without PATH at all that are mounted. Each finding says what is wrong, why it matters, and how to
repair it. The exit code is 1 if something fails; with --strict also if there is a
warning. Run doctor as root: other users cannot see everybody's processes.

In each lock directory doctor makes, links, renames, locks and removes a file, to see
that the file system can do what leases need.

--repair repairs what is provably safe, and keeps every old file beside the new one.
The rest needs --force as well; make sure first that nobody writes.`,
		Args: usage.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), io, args) },
	}
	d.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&d.strict, "strict", false, "fail on warnings, too")
	cmd.Flags().BoolVar(&d.repair.Safe, "repair", false, "repair what is provably safe")
	cmd.Flags().BoolVar(&d.repair.Force, "force", false, "with --repair: repair also what jvsfs cannot prove to be safe")
	cmd.Flags().BoolVar(&d.asJSON, "json", false, "print JSON")
	return cmd
}

func (d *doctorCommand) run(ctx context.Context, io console.Streams, paths []string) error {
	control, terms, err := d.Load()
	if err != nil {
		return err
	}
	if d.repair.Force && !d.repair.Safe {
		return api.Usagef("--force goes with --repair")
	}
	all, err := d.check(ctx, io, paths, control, terms.Policy)
	if err != nil {
		return console.Interrupted(err, d.leftNow)
	}
	if d.asJSON {
		err = human.PrintJSON(io.Out, doctorReport{!finding.Failed(all, d.strict), all})
	} else {
		_, err = fmt.Fprint(io.Out, finding.Text(all))
	}
	if err == nil && finding.Failed(all, d.strict) {
		return api.ExitWith(api.ExitError)
	}
	return err
}

// check looks at everything, and shows where it is.
func (d *doctorCommand) check(ctx context.Context, io console.Streams, paths []string, control string, policy record.Policy) (all []finding.Finding, err error) {
	ctx, stop := console.UntilSignal(ctx)
	defer stop()
	var at atomic.Value
	at.Store("the machine")
	show := console.NewWaits(io, func(context.Context) string { return "the checks of " + at.Load().(string) })
	err = show.During(ctx, func() error {
		all, err = console.InterruptedBy(ctx, func() ([]finding.Finding, error) {
			return doctor.Check(ctx, paths, control, policy, d.repair, func(what string) { at.Store(what) })
		})
		return err
	})
	return all, err
}

// leftNow is what doctor leaves when it is interrupted.
func (d *doctorCommand) leftNow(context.Context) string {
	if d.repair.Safe {
		return "each repair is done or not begun, and keeps the old file: run doctor again"
	}
	return "doctor has changed nothing"
}

// doctorReport is what `doctor --json` prints; the names are a promise.
type doctorReport struct {
	OK       bool              `json:"ok"`
	Findings []finding.Finding `json:"findings"`
}
