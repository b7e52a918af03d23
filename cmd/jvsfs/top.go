package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
)

const topInterval = time.Second

func newTopCommand(io stdio) *cobra.Command {
	every := topInterval
	cmd := &cobra.Command{
		Use: "top", Short: "Watch mounts, holders, time left, operations and refusals live",
		Long: `Watch mounts, worktrees, holders, the time left of their leases, operations and
refusals a second, and the last refusals, live on a terminal.

Keys: q quits, s sorts by the next column, r the other way round, / filters, p
pauses, arrows scroll, ? shows all keys. NO_COLOR switches colours off.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd.Context(), io, every) },
	}
	cmd.Flags().DurationVar(&every, "interval", topInterval, "ask the daemons each `INTERVAL`")
	return cmd
}

func runTop(ctx context.Context, io stdio, every time.Duration) error {
	if every < watchMinInterval {
		return usagef("an interval of %s is less than %s", every, watchMinInterval)
	}
	out := terminalOf(io.out)
	if out == nil || !isTerminal(io.in) {
		return &failure{
			Class: classUsage, Message: "top needs a terminal to draw on and to take keys from",
			Next: "use jvsfs status --watch, with --json for programs",
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a look that is under way
	model := newTopModel(every, styleOf(os.Getenv), func() tea.Msg { return lookAround(ctx) })
	_, err := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(io.in), tea.WithOutput(out)).Run()
	if errors.Is(err, tea.ErrInterrupted) { // SIGINT from elsewhere; from the terminal it is a key
		return nil
	}
	return err
}

// lookAround asks all daemons.
func lookAround(ctx context.Context) tea.Msg {
	mounts, err := readMounts()
	if err != nil {
		return lookFailed{err}
	}
	all := statusOfAll(ctx, mounts.jvsfs())
	return newSnapshot(time.Now(), all)
}

// styleOf is what the environment says of the terminal (https://no-color.org,
// locale(7)).
func styleOf(getenv func(string) string) topStyle {
	term, locale := getenv("TERM"), getenv("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = getenv(name)
		}
	}
	locale = strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return topStyle{
		colour: getenv("NO_COLOR") == "" && term != "" && term != "dumb",
		glyphs: glyphsFor(strings.Contains(locale, "utf8")),
	}
}
