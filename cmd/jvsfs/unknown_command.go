package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// notACommand is the cause of an unknown command, from which the line is typed again.
type notACommand struct {
	word  string
	meant []string // command lines
}

func (e *notACommand) Error() string { return e.word + " is no command" }

// unknownCommand names the command that was probably meant. words are what follows the name of cmd.
func unknownCommand(cmd *cobra.Command, words []string) *api.Failure {
	return &api.Failure{
		Class: api.ClassUsage, Message: fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+words[0]),
		Next: cmd.CommandPath() + " --help lists the commands",
		Err:  &notACommand{words[0], commandsLike(cmd, words[0])},
	}
}

// typeAgain makes the next step of an unknown command the line as it was typed, with the right name.
func typeAgain(f *api.Failure, args []string) {
	no, ok := errors.AsType[*notACommand](f.Err)
	if !ok || len(no.meant) == 0 {
		return
	}
	rest := ""
	for _, a := range args[slices.Index(args, no.word)+1:] {
		rest += " " + human.Typed(a)
	}
	lines := make([]string, 0, len(no.meant))
	for _, m := range no.meant {
		lines = append(lines, m+rest)
	}
	f.Next = strings.Join(lines, ", or ")
}

// commandsLike are the commands that a word may stand for: below cmd by another spelling, or anywhere by this
// very name (jvsfs acquire).
func commandsLike(cmd *cobra.Command, word string) (all []string) {
	cmd.SuggestionsMinimumDistance = 2
	for _, name := range cmd.SuggestionsFor(word) {
		all = append(all, cmd.CommandPath()+" "+name)
	}
	if len(all) > 0 {
		return all
	}
	for _, c := range everyCommand(cmd.Root()) {
		if c.IsAvailableCommand() && c.Name() == word {
			all = append(all, c.CommandPath())
		}
	}
	slices.Sort(all)
	return all
}

func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := cmd.Commands()
	for _, c := range cmd.Commands() {
		all = append(all[:len(all):len(all)], everyCommand(c)...)
	}
	return all
}

// showHelp is what a command that only has subcommands does without one.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// newHelpCommand is cobra's, which ends well whatever it is asked for.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				f := unknownCommand(about, rest)
				f.Err = nil // its help is asked for
				if meant := commandsLike(about, rest[0]); len(meant) > 0 {
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
	cmd.RunE = showHelp
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
