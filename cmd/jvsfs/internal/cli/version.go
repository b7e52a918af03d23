package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

func newVersion(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Show which build this is", Args: usage.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := api.BuildOf()
			if asJSON {
				return human.PrintJSON(io.Out, b)
			}
			_, err := fmt.Fprintf(io.Out, "jvsfs %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
