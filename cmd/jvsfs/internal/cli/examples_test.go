package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every example is a command line that the program takes, of a command that it has.
func TestEveryExampleIsACommandLineThatIsTaken(t *testing.T) {
	root := NewRoot(Program{})
	for path, text := range examples {
		cmd, rest, err := root.Find(strings.Fields(path)[1:])
		require.NoError(t, err)
		require.Empty(t, rest, path)
		require.Equal(t, path, cmd.CommandPath())
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, " | ")
			requireParses(t, strings.Fields(strings.ReplaceAll(line, `"release 1.4"`, "release"))[1:])
		}
	}
}

func requireParses(t *testing.T, args []string) {
	t.Helper()
	cmd, rest, err := NewRoot(Program{}).Find(args)
	require.NoError(t, err, args)
	require.NoError(t, cmd.ParseFlags(rest), args)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), args)
}
