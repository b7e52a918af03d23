package main

import (
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// newRoot builds the command tree.
func newRoot(io stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "jvsfs",
		Short: "A file system that lets only the holder of the lease write",
		Long: `jvsfs mounts a JVS repository, one of its worktrees or any directory so that
only the holder of the lease can write below it. Everybody reads.

Exit codes: 0 ok, 1 other error, 2 usage, 10 conflict, 11 expired, 12 not held,
13 fencing mismatch, 14 clock skew, 15 record unreadable or store failed,
16 no such mount or dead mount, 17 busy, 75 exec lost its lease,
130 interrupted.`,
		Version:       api.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetIn(io.in)
	root.AddCommand(newVersionCommand(io))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &api.Failure{Class: api.ClassUsage, Message: err.Error(), Next: "see " + cmd.CommandPath() + " --help"}
	})
	root.AddCommand(
		newConfigCommand(io),
		newMountCommand(io), newUmountCommand(io), newLockCommand(io), newExecCommand(io), newEnforceCommand(io),
		newStatusCommand(io), newTopCommand(io), newExplainCommand(io), newLayoutCommand(io), newDoctorCommand(io), newAuditCommand(io), newTrampolineCommand(io), newGuardianCommand(),
		newRecoverCommand(io), newProbeCommand(),
	)
	root.AddCommand(docsCommands(io)...)
	addExamples(root)
	addCompletions(root)
	return root
}

// usageArgs makes the complaint of a cobra validator a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &api.Failure{Class: api.ClassUsage, Message: err.Error(), Next: "see " + cmd.CommandPath() + " --help"}
		}
		return nil
	}
}
