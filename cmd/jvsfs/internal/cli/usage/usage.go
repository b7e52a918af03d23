package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// Args makes the complaint of a cobra validator a usage error that names the argument.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		if cmd.HasSubCommands() {
			return UnknownCommand(cmd, args)
		}
		needs := NeededWords(cmd.Use)
		f := &api.Failure{Class: api.ClassUsage, Next: Line(cmd)}
		switch {
		case len(args) < len(needs):
			f.Message = fmt.Sprintf("%s: %s is missing", cmd.CommandPath(), needs[len(args)])
		case Placeholder(cmd.Use, 0) == "":
			f.Message = fmt.Sprintf("%s takes no argument, and got %s", cmd.CommandPath(), human.Typed(args[0]))
		default:
			f.Message = fmt.Sprintf("%s: %s is one argument too many", cmd.CommandPath(), human.Typed(args[len(placeholders(cmd.Use))]))
		}
		return f
	}
}

// Line is how a command is typed, and where its help is.
func Line(cmd *cobra.Command) string {
	line := strings.TrimSuffix(cmd.Parent().CommandPath()+" "+cmd.Use, " ")
	return fmt.Sprintf("%s (jvsfs%s --help says more)", line, strings.TrimPrefix(cmd.CommandPath(), ProgramName))
}

// NeededWords are the arguments of a usage line that may not be left out.
func NeededWords(use string) (needed []string) {
	for _, w := range placeholders(use) {
		if !strings.HasPrefix(w, "[") {
			needed = append(needed, strings.TrimSuffix(w, "..."))
		}
	}
	return needed
}

// FlagFailure words the mistake in a flag. args is the whole command line: a mistake in the name of a
// command is found first.
func FlagFailure(args []string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if words := wordsAfter(cmd, args); cmd.HasSubCommands() && len(words) > 0 {
			return UnknownCommand(cmd, words)
		}
		f := &api.Failure{Class: api.ClassUsage, Message: err.Error(), Err: err}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			f.Message, f.Next = unknownFlag(cmd, unknown)
			if dashesMissing(cmd, args) {
				f.Message, f.Next = f.Message+": the flags of CMD are behind --", Line(cmd)
			}
		} else if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
			f.Message, f.Next = missingValue(cmd, missing.GetFlag())
		} else if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			f.Message, f.Next = wrongValue(cmd, wrong)
		}
		return f
	}
}

// wordsAfter are the words of a command line that follow the name of a command, without flags.
func wordsAfter(cmd *cobra.Command, args []string) (words []string) {
	for _, a := range args {
		if a == "--" {
			break
		}
		if !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	depth := strings.Count(cmd.CommandPath(), " ")
	return words[min(depth, len(words)):]
}

// dashesMissing reports whether a command that runs another one got arguments, and no -- (exec W ls -l).
func dashesMissing(cmd *cobra.Command, args []string) bool {
	return strings.Contains(cmd.Use, "-- CMD") && !slices.Contains(args, "--") && len(wordsAfter(cmd, args)) > 0
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) (message, next string) {
	name := e.GetSpecifiedName()
	if e.GetSpecifiedShortnames() != "" {
		return fmt.Sprintf("%s has no flag -%s", cmd.CommandPath(), name), ""
	}
	message = fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), name)
	best, distance := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := human.Distance(name, f.Name); d < distance && !f.Hidden {
			best, distance = f.Name, d
		}
	})
	if best != "" {
		next = fmt.Sprintf("did you mean --%s? %s --help lists the flags", best, cmd.CommandPath())
	}
	return message, next
}

func missingValue(cmd *cobra.Command, f *pflag.Flag) (message, next string) {
	what, _ := pflag.UnquoteUsage(f)
	return fmt.Sprintf("--%s needs a value: --%s %s", f.Name, f.Name, what), exampleValue(cmd, f, "")
}

// MayBeEmpty are the flags whose empty value says none, or the default, and moves nothing to another place.
var MayBeEmpty = []string{"purpose", "name", "scope", "notify", "since", "metrics", "etcd-prefix", "etcd-user"}

// RefuseEmptyValues refuses an empty value where it would count as none: that of a variable that is not set. The command would work in
// another place than was meant, with other records, or as another host.
func RefuseEmptyValues(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() != "string" || f.Value.String() != "" || slices.Contains(MayBeEmpty, f.Name) {
			return
		}
		what, _ := pflag.UnquoteUsage(f)
		err = &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--%s needs a value, and got an empty one: --%s %s", f.Name, f.Name, what),
			Next: exampleValue(cmd, f, "")}
	})
	return err
}

// wrongValue says which values a flag takes, and not how its parser failed.
func wrongValue(cmd *cobra.Command, e *pflag.InvalidValueError) (message, next string) {
	f, value := e.GetFlag(), e.GetValue()
	wants := ""
	switch {
	case f.Value.Type() == "duration" && isTooLong(value):
		no := tooLong(f.Name, value)
		return no.Message, no.Next
	case f.Value.Type() == "duration":
		wants = "is no duration: want a number and a unit, such as 500ms, 30s, 2m or 1h"
	case f.Value.Type() == "int":
		wants = "is no number"
	case f.Value.Type() == "bool":
		return fmt.Sprintf("--%s takes no value, and got %s", f.Name, human.Typed(value)), "--" + f.Name
	default:
		wants = errors.Unwrap(e).Error()
		return fmt.Sprintf("--%s %s: %s", f.Name, human.Typed(value), wants), exampleValue(cmd, f, value)
	}
	return fmt.Sprintf("--%s %s %s", f.Name, human.Typed(value), wants), exampleValue(cmd, f, value)
}

// exampleValue shows a flag with a value that it takes. A number without a unit is taken for seconds, as in
// sleep(1).
func exampleValue(cmd *cobra.Command, f *pflag.Flag, value string) string {
	help := cmd.CommandPath() + " --help"
	if f.Value.Type() != "duration" {
		return help + " says what --" + f.Name + " takes"
	}
	if _, err := time.ParseDuration(value + "s"); value == "" || err != nil {
		value = "30"
	}
	return fmt.Sprintf("--%s %ss for seconds, --%s %sm for minutes", f.Name, value, f.Name, value)
}

// isTooLong reports whether value is a duration that does not fit into one.
func isTooLong(value string) bool {
	if _, err := time.ParseDuration(value); err == nil {
		return false
	}
	digits := strings.TrimLeft(value, "0123456789.")
	_, err := time.ParseDuration("1" + digits)
	return err == nil && digits != "" && digits != value
}

// CheckWait refuses a --wait that a daemon would not take, or that is shorter than least.
func CheckWait(wait, least time.Duration) error {
	switch {
	case wait > api.MaxWait:
		return tooLong("wait", wait.String())
	case wait < 0:
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--wait %s is negative", wait), Next: fmt.Sprintf("--wait %s", -wait)}
	case wait < least:
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--wait %s is less than %s", wait, least), Next: "--wait 30s"}
	}
	return nil
}

// CheckPID refuses a number that no process has.
func CheckPID(flag string, pid int) error {
	if pid >= 0 && pid <= api.MaxPID {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--%s %d is a number that no process has", flag, pid), Next: fmt.Sprintf("--%s $$ is this shell; ps lists others", flag)}
}

func tooLong(flag, value string) *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--%s %s is too long: a year (%gh) is the most", flag, human.Typed(value), api.MaxWait.Hours()),
		Next: fmt.Sprintf("--%s 24h for a day", flag)}
}

// ProgramName is the first word of every command line.
const ProgramName = "jvsfs"
