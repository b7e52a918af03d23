package status

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/top"
)

const topInterval = time.Second

// NewTop is jvsfs top.
func NewTop(io console.Streams) *cobra.Command {
	every := topInterval
	cmd := &cobra.Command{
		Use: "top", Short: "Watch mounts, holders, time left, operations and refusals live",
		Long: `Watch mounts, worktrees, holders, the time left of their leases, operations and
refusals per second, and the last refusals, live on a terminal.

Keys: q quits, s sorts by the next column, r reverses the order, / filters, p
pauses, arrows scroll, ? shows all keys. NO_COLOR switches colours off.`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd.Context(), io, every) },
	}
	cmd.Flags().DurationVar(&every, "interval", topInterval, "ask the daemons every `INTERVAL`")
	return cmd
}

func runTop(ctx context.Context, io console.Streams, every time.Duration) error {
	if every < watchMinInterval {
		return api.Usagef("an interval of %s is less than %s", every, watchMinInterval)
	}
	out := console.TerminalOf(io.Out)
	if out == nil || !console.IsTerminal(io.In) {
		return &api.Failure{
			Class: api.ClassUsage, Message: "top needs a terminal to draw on and to take keys from",
			Next: "use jvsfs status --watch, with --json for programs",
		}
	}
	return top.Show(ctx, io.In, out, every)
}
