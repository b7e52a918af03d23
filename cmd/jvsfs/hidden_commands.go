package main

import (
	"github.com/spf13/cobra"
)

func newProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use: probeName, Hidden: true, Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return probe() },
	}
}

func newGuardianCommand() *cobra.Command {
	return &cobra.Command{
		Use: guardianName, Hidden: true, Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return guardian() },
	}
}
