package main

import (
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/spf13/cobra"
)

// addCompletions lets the shell complete the arguments and flag values of every
// command below cmd that does not do so itself.
//
// Nothing here looks at a mounted file system or asks a daemon: a person who presses
// TAB must not wait for a mount whose daemon is dead or stopped. The mount table
// tells enough.
func addCompletions(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = completeArgument
	}
	completeFlags(cmd)
	for _, c := range cmd.Commands() {
		addCompletions(c)
	}
}

// completeArgument goes by the placeholder that the usage line has for the argument.
func completeArgument(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	what := placeholder(cmd.Use, len(args))
	if strings.Contains(what, "|") {
		return strings.Split(strings.Trim(what, "[]"), "|"), cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 0 && what == "[MOUNTPOINT]" {
		what = "MOUNTPOINT" // of a mount that is there; as a second argument it is where one will be
	}
	switch what {
	case "MOUNTPOINT":
		return mountPoints(word), cobra.ShellCompDirectiveNoFileComp
	case "WORKTREE":
		return mountPoints(word), cobra.ShellCompDirectiveDefault
	case "SOURCE", "[SOURCE", "[MOUNTPOINT]", "[MOUNTPOINT]]", "TARGET":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "", "[INTERVAL]]":
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// placeholder is the word of a usage line for argument n, counted from 0; the last
// one stands for all that follow when it ends in "...".
func placeholder(use string, n int) string {
	words := slices.DeleteFunc(strings.Fields(use)[1:], func(w string) bool { return strings.Contains(w, "--") && w != "--" })
	if n < len(words) {
		return words[n]
	}
	if len(words) > 0 && strings.Contains(words[len(words)-1], "...") {
		return words[len(words)-1]
	}
	return ""
}

// mountPoints lists the jvsfs mounts that word may become.
func mountPoints(word string) []cobra.Completion {
	mounts, err := readMounts()
	if err != nil {
		return nil // the command itself will say so
	}
	var out []cobra.Completion
	for _, m := range mounts.jvsfs() {
		if strings.HasPrefix(m.Mountpoint, word) {
			out = append(out, cobra.CompletionWithDesc(m.Mountpoint, "jvsfs of "+m.Source))
		}
	}
	return out
}

// completeFlags offers the words of flags that take one of a closed set, and
// directories where a flag names one.
func completeFlags(cmd *cobra.Command) {
	for _, s := range mountcfg.Settings() {
		if cmd.Flags().Lookup(s.Flag) == nil {
			continue
		}
		complete := cobra.FixedCompletions(s.Words, cobra.ShellCompDirectiveNoFileComp)
		switch s.Value {
		case "DIR":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case "FILE":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		}
		// It fails only where the command has said already how the flag is completed.
		_ = cmd.RegisterFlagCompletionFunc(s.Flag, complete)
	}
	if cmd.Flags().Lookup("config") != nil {
		_ = cmd.MarkFlagFilename("config", "yaml", "yml") // fails for a flag that is not there
	}
}
