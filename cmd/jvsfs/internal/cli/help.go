package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// newHelp is cobra's, which ends well whatever it is asked for.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				f := usage.UnknownCommand(about, rest)
				f.Err = nil // its help is asked for
				if meant := usage.CommandsLike(about, rest[0]); len(meant) > 0 {
					f.Next = strings.Join(meant, " --help, or ") + " --help"
				}
				return f
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func completeCommand(cmd *cobra.Command, args []string, word string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) == 0 {
		for _, c := range about.Commands() {
			if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), word) {
				all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// refuseOtherShells makes the name of a shell that has no completion a mistake.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // the mistake is found by the completion command's own test
	}
	cmd.RunE = usage.ShowHelp
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		shells := make([]string, 0, len(cmd.Commands()))
		for _, c := range cmd.Commands() {
			shells = append(shells, c.Name())
		}
		return &api.Failure{Class: api.ClassUsage, Message: "there is no completion for " + human.Typed(args[0]),
			Next: "jvsfs completion " + strings.Join(shells, "|")}
	}
}
