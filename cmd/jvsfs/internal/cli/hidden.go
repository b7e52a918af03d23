package cli

import (
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/guardian"
)

func newProbe() *cobra.Command {
	return &cobra.Command{
		Use: client.ProbeName, Hidden: true, Args: usage.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return client.Probe() },
	}
}

func newGuardian() *cobra.Command {
	return &cobra.Command{
		Use: api.GuardianName, Hidden: true, Args: usage.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return guardian.Guard() },
	}
}
