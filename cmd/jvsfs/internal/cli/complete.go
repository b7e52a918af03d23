package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/rules"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// addCompletions lets the shell complete the arguments and flag values of every
// command below root that does not do so itself.
//
// Nothing here looks at a mounted file system or asks a daemon: a person who presses
// TAB must not wait for a mount whose daemon is dead or stopped. The mount table
// tells enough.
func addCompletions(root *cobra.Command) { completeBelow(root, mountcfg.Settings()) }

func completeBelow(cmd *cobra.Command, settings []mountcfg.Setting) {
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = completeArgument
	}
	completeFlags(cmd, settings)
	for _, c := range cmd.Commands() {
		completeBelow(c, settings)
	}
}

// completeArgument goes by the placeholder that the usage line has for the argument.
func completeArgument(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch what := usage.Placeholder(cmd.Use, len(args)); {
	case what == "":
		return nil, cobra.ShellCompDirectiveNoFileComp
	case strings.Contains(what, "|"):
		return strings.Split(what, "|"), cobra.ShellCompDirectiveNoFileComp
	case what == "SOURCE", what == "MOUNTPOINT" && len(args) > 0: // where a mount is to be
		return nil, cobra.ShellCompDirectiveFilterDirs
	case what == "MOUNTPOINT":
		return mountPoints(word), cobra.ShellCompDirectiveNoFileComp
	case what == "WORKTREE":
		return mountPoints(word), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// mountPoints lists the jvsfs mounts that complete word.
func mountPoints(word string) []cobra.Completion {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil // the command itself will say so
	}
	var out []cobra.Completion
	for _, m := range mounts.JVSFS() {
		if strings.HasPrefix(m.Mountpoint, word) {
			out = append(out, cobra.CompletionWithDesc(m.Mountpoint, "jvsfs of "+m.Source))
		}
	}
	return out
}

// completeFlags completes flags with a fixed set of values, and flags whose value is a directory.
func completeFlags(cmd *cobra.Command, settings []mountcfg.Setting) {
	for _, s := range settings {
		if cmd.Flags().Lookup(s.Flag) == nil {
			continue
		}
		complete := cobra.FixedCompletions(s.Words, cobra.ShellCompDirectiveNoFileComp)
		switch s.Value {
		case "DIR":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case "FILE|PRESET":
			complete = rules.CompletePresets
		case "FILE":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		}
		// It fails only if the command completes the flag itself.
		_ = cmd.RegisterFlagCompletionFunc(s.Flag, complete)
	}
	if cmd.Flags().Lookup("config") != nil {
		_ = cmd.MarkFlagFilename("config", "yaml", "yml") // fails for a flag that is not there
	}
}
