package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// placeAndCommand wants a place, and a command behind a "--", so that the command's flags are its own. It names the place as
// the command's Use does.
func placeAndCommand(cmd *cobra.Command, args []string) error {
	dash, name := cmd.ArgsLenAtDash(), cmd.CommandPath()
	f := &api.Failure{Class: api.ClassUsage, Next: usageLine(cmd)}
	switch {
	case len(args) == 0 || dash == 0:
		f.Message = fmt.Sprintf("%s: %s is missing", name, neededWords(cmd.Use)[0])
	case dash < 0 && len(args) > 1:
		f.Message = name + ": -- is missing before the command"
		f.Next = name + typedAll(args[:1]) + " --" + typedAll(args[1:])
	case len(args) == 1:
		f.Message, f.Next = name+": the command is missing", name+typedAll(args)+" -- CMD"
	case dash > 1:
		f.Message = fmt.Sprintf("%s: %s is one argument too many before --", name, human.Typed(args[1]))
	default:
		return nil
	}
	return f
}

func typedAll(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" " + human.Typed(w))
	}
	return b.String()
}
