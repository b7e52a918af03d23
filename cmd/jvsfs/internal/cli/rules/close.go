package rules

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

func newClose(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "close PATH", Short: "Close a maintenance window",
		Long: `Close the maintenance window that jvsfs rules open has opened at PATH, or to which PATH
belongs. It returns when nothing is in flight under the window any more. Its holder may
do that, and root.`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return closeWindow(ctx, io, args[0], asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func closeWindow(ctx context.Context, io console.Streams, path string, asJSON bool) error {
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		return noWindowAt(path, t, err)
	}
	w, err := client.AskFor[api.RuleWindow](ctx, t.Mount, api.CloseRule{Where: api.Where{Path: t.Rel}}, nil)
	if err != nil {
		return err
	}
	if asJSON {
		return human.PrintJSON(io.Out, w)
	}
	_, err = fmt.Fprintf(io.Out, "closed the window of %s at %s\n", human.Printable(w.HolderText()), human.Printable(t.Path))
	return err
}
