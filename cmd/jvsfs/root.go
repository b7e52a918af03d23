package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// newRoot builds the command tree.
func newRoot(p program) *cobra.Command {
	io := p.stdio
	root := &cobra.Command{
		Use:   "jvsfs",
		Short: "A file system that lets only the holder of the lease write",
		Long: `jvsfs mounts a JVS repository, one of its worktrees, or any directory. Through the
mount, only the holder of the lease can write. Everybody can read.

` + exitCodes() + `.`,
		Version:       api.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          showHelp,

		PersistentPreRunE: refuseEmptyValues,
	}
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetIn(io.in)
	root.AddCommand(newVersionCommand(io))
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(
		newConfigCommand(io),
		newMountCommand(io, p.started), newUmountCommand(io), newLockCommand(io), newExecCommand(io), newRunCommand(io), newQuiesceCommand(io), newEnforceCommand(io),
		newStatusCommand(io), newWatchCommand(io), newTopCommand(io), newExplainCommand(io), newHookCommand(io), newMCPCommand(io), newExporterCommand(io), newLayoutCommand(io), newRulesCommand(io), newDoctorCommand(io), newFenceCheckCommand(io), newAuditCommand(io), newTrampolineCommand(io), newGuardianCommand(),
		newRecoverCommand(io), newProbeCommand(), newNotifierCommand(),
	)
	root.AddCommand(docsCommands(func() *cobra.Command { return newRoot(p) })...)
	addExamples(root)
	addCompletions(root)
	return root
}

// exitCodes is the table of exit codes as one sentence.
func exitCodes() string {
	const width = 80
	text, line := "", "Exit codes:"
	for i, row := range api.Exits {
		item := fmt.Sprintf(" %d %s", row.Code, row.Brief)
		if i < len(api.Exits)-1 {
			item += ","
		}
		if len(line)+len(item) > width {
			text, line = text+line+"\n", strings.TrimSpace(item)
			continue
		}
		line += item
	}
	return text + line
}
