package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// PlaceAndCommand wants a place, and a command behind a "--", so that the command's flags are its own. It names the place as
// the command's Use does.
func PlaceAndCommand(cmd *cobra.Command, args []string) error {
	dash, name := cmd.ArgsLenAtDash(), cmd.CommandPath()
	f := &api.Failure{Class: api.ClassUsage, Next: Line(cmd)}
	switch {
	case len(args) == 0 || dash == 0:
		f.Message = fmt.Sprintf("%s: %s is missing", name, NeededWords(cmd.Use)[0])
	case dash < 0 && len(args) > 1:
		f.Message = name + ": -- is missing before the command"
		f.Next = name + TypedAll(args[:1]) + " --" + TypedAll(args[1:])
	case len(args) == 1:
		f.Message, f.Next = name+": the command is missing", name+TypedAll(args)+" -- CMD"
	case dash > 1:
		f.Message = fmt.Sprintf("%s: %s is one argument too many before --", name, human.Typed(args[1]))
	default:
		return nil
	}
	return f
}

// TypedAll is how words are typed, each behind a space.
func TypedAll(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" " + human.Typed(w))
	}
	return b.String()
}
