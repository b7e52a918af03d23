package cli

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
)

// typed runs a command line in this process and returns its exit code and what it says.
func typed(t *testing.T, line string) (api.ExitCode, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := execute(context.Background(), strings.Fields(line), Program{Streams: console.Streams{Out: &out, Err: &errs}})
	return code, errs.String()
}

// Every command, whatever it is, refuses a flag and arguments that it does not have, and says
// how it is typed, or where its own help is.
func TestEveryCommandSaysHowItIsTyped(t *testing.T) {
	root := NewRoot(Program{})
	for _, cmd := range usage.EveryCommand(root) {
		if cmd.Hidden || cmd.DisableFlagParsing {
			continue
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "jvsfs ")
		code, text := typed(t, path+" --no-such-flag")
		want := api.ExitUsage
		if path == "hook" { // to a harness that would be a refusal
			want = api.ExitError
		}
		require.Equal(t, want, code, path)
		require.Contains(t, text, "jvsfs "+path+" has no flag --no-such-flag", path)
		require.Contains(t, text, "next: jvsfs "+path+" --help", path)
		if needs := usage.NeededWords(cmd.Use); len(needs) > 0 {
			code, text = typed(t, path)
			require.Equal(t, api.ExitUsage, code, path)
			require.Contains(t, text, " is missing\nnext: jvsfs "+path+" "+needs[0], path)
		}
	}
}

// Whoever leaves the -- out gets the flags of the command taken for those of exec.
func TestFlagsOfACommandAreBehindDashes(t *testing.T) {
	for line, next := range map[string]string{
		"exec /w ls -l":              "jvsfs exec WORKTREE -- CMD [ARG...]",
		"exec /w ls --color":         "jvsfs exec WORKTREE -- CMD [ARG...]",
		"run make --jobs=2":          "jvsfs run [DIR] -- CMD [ARG...]",
		"quiesce /w sh -c true":      "jvsfs quiesce WORKTREE -- CMD [ARG...]",
		"rules learn /w git --bare":  "jvsfs rules learn DIR -- CMD [ARG...]",
		"rules open /w touch --date": "jvsfs rules open PATH [-- CMD [ARG...]]",
	} {
		code, text := typed(t, line)
		require.Equal(t, api.ExitUsage, code, line)
		require.Contains(t, text, ": the flags of CMD are behind --\nnext: "+next+" (jvsfs ", line)
	}
	_, text := typed(t, "exec --no-such-flag /w -- ls -l")
	require.NotContains(t, text, "behind --")
}

// An empty value, such as that of a variable that is not set, is refused. As none at all, --worktree would be the main checkout,
// --control and --etcd other records, and --node this host.
func TestEmptyValuesAreRefused(t *testing.T) {
	seen := 0
	for _, cmd := range usage.EveryCommand(NewRoot(Program{})) {
		path := strings.TrimPrefix(cmd.CommandPath(), "jvsfs ")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if cmd.DisableFlagParsing || f.Value.Type() != "string" || slices.Contains(usage.MayBeEmpty, f.Name) {
				return
			}
			seen++
			line := append(strings.Fields(path), "--"+f.Name+"=")
			for _, word := range usage.NeededWords(cmd.Use) {
				line = append(line, strings.TrimSuffix(word, "..."))
			}
			var errs bytes.Buffer
			code := execute(context.Background(), line, Program{Streams: console.Streams{Out: &bytes.Buffer{}, Err: &errs}})
			require.Equal(t, api.ExitUsage, code, "%q %s", line, errs.String())
			require.Contains(t, errs.String(), "E_USAGE: --"+f.Name+" ", "%q", line)
		})
	}
	require.GreaterOrEqual(t, seen, 15)
}

// Whatever is left out, the answer is how the command is typed. The words that a command needs come first in its usage line: an argument
// behind a flag is not seen.
func TestACommandWithoutItsArgumentsSaysWhichIsMissing(t *testing.T) {
	for _, cmd := range usage.EveryCommand(NewRoot(Program{})) {
		if cmd.Args == nil || cmd.Args(cmd, nil) == nil {
			continue
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "jvsfs ")
		require.NotEmpty(t, usage.NeededWords(cmd.Use), path)
		code, text := typed(t, path)
		require.Equal(t, api.ExitUsage, code, path)
		require.Contains(t, text, " is missing", path)
	}
}

// Fewer events than none cannot be shown: the answer is not an empty one.
func TestAuditTailRefusesANegativeNumber(t *testing.T) {
	code, text := typed(t, "audit tail -n -1 "+t.TempDir())
	require.Equal(t, api.ExitUsage, code, text)
	require.Contains(t, text, "--lines is a number of events, and not -1")
}

func TestEveryWrongCommandLineIsAUsageError(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"mount", "--nonsense"}, {"mount"}, {"mount", "a", "b", "c"}, {"umount"}, {"exec", "x"},
		{"exec", "x", "--"}, {"exec", "--", "x"}, {"lock", "nonsense"}, {"lock", "acquire"}, {"explain", "a", "b"}, {"explain", "--since", "1s", "a"}, {"explain", "--since", "-1s"},
		{"mount", "--mode", "odd", "/"}, {"lock", "acquire", "--pid", "-1", "/"}, {"lock", "acquire", "--wait", "x", "/"},
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), args, Program{Streams: console.Streams{In: os.Stdin, Out: &out, Err: &errs}})
		require.Equal(t, api.ExitUsage, code, "%q: %s", args, errs.String())
		require.Contains(t, errs.String(), "jvsfs: E_USAGE: ", "%q", args)
		require.Contains(t, errs.String(), "next: ", "%q", args)
	}
}

func TestBadArgumentsOfStatusWatchAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"status", "5s"}, {"status", "--watch", "soon"}, {"status", "--watch=1ms"}, {"status", "--watch", "1ms"}, {"top", "--interval", "0s"}, {"status", "--watch", "1s", "2s"}} {
		exit, _, errs := command(args...)
		require.Equal(t, api.ExitUsage, exit, "%v %s", args, errs)
	}
	exit, _, errs := command("top")
	require.Equal(t, api.ExitUsage, exit)
	require.Contains(t, errs, "jvsfs status --watch")
}
