package top

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Show draws on the terminal out, and takes keys from the terminal in, until the user or ctx ends it.
func Show(ctx context.Context, in, out *os.File, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a look that is under way
	model := newTopModel(every, styleOf(os.Getenv), func() tea.Msg { return lookAround(ctx) })
	_, err := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if errors.Is(err, tea.ErrInterrupted) { // SIGINT from elsewhere; from the terminal it is a key
		return nil
	}
	return err
}

// lookAround asks all daemons.
func lookAround(ctx context.Context) tea.Msg {
	mounts, err := host.ReadMounts()
	if err != nil {
		return lookFailed{err}
	}
	all := client.StatusOfAll(ctx, mounts.JVSFS())
	return newSnapshot(time.Now(), all)
}

// styleOf reads the environment about the terminal (https://no-color.org, locale(7)).
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
