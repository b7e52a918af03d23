package usage

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

// UnknownCommand names the command that was probably meant. words are what follows the name of cmd.
func UnknownCommand(cmd *cobra.Command, words []string) *api.Failure {
	return &api.Failure{
		Class: api.ClassUsage, Message: fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+words[0]),
		Next: cmd.CommandPath() + " --help lists the commands",
		Err:  &notACommand{words[0], CommandsLike(cmd, words[0])},
	}
}

// TypeAgain makes the next step of an unknown command the line as it was typed, with the right name.
func TypeAgain(f *api.Failure, args []string) {
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

// CommandsLike are the commands that a word may stand for: below cmd by another spelling, or anywhere by this
// very name (jvsfs acquire).
func CommandsLike(cmd *cobra.Command, word string) (all []string) {
	cmd.SuggestionsMinimumDistance = 2
	for _, name := range cmd.SuggestionsFor(word) {
		all = append(all, cmd.CommandPath()+" "+name)
	}
	if len(all) > 0 {
		return all
	}
	for _, c := range EveryCommand(cmd.Root()) {
		if c.IsAvailableCommand() && c.Name() == word {
			all = append(all, c.CommandPath())
		}
	}
	slices.Sort(all)
	return all
}

// EveryCommand is all that is below cmd.
func EveryCommand(cmd *cobra.Command) []*cobra.Command {
	all := cmd.Commands()
	for _, c := range cmd.Commands() {
		all = append(all[:len(all):len(all)], EveryCommand(c)...)
	}
	return all
}

// ShowHelp is what a command that only has subcommands does without one.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }
