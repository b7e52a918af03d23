package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

func newVersionCommand(io stdio) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Show which build this is", Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := api.BuildOf()
			if asJSON {
				return human.PrintJSON(io.out, b)
			}
			_, err := fmt.Fprintf(io.out, "jvsfs %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
