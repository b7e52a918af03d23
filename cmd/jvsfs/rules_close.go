package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

func newRulesCloseCommand(io stdio) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "close PATH", Short: "Close a maintenance window",
		Long: `Close the maintenance window that jvsfs rules open has opened at PATH, or to which PATH
belongs. It returns when nothing is in flight under the window any more. Its holder may
do that, and root.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return closeWindow(ctx, io, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func closeWindow(ctx context.Context, io stdio, path string, asJSON bool) error {
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		return noRulesAt(path, t, err)
	}
	w, err := askWindow(ctx, t, api.CloseRule{Where: api.Where{Path: t.Rel}})
	if err != nil {
		return err
	}
	if asJSON {
		return human.PrintJSON(io.out, w)
	}
	_, err = fmt.Fprintf(io.out, "closed the window of %s at %s\n", human.Printable(w.HolderText()), human.Printable(t.Path))
	return err
}
