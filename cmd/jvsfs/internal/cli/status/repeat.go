package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

const (
	watchInterval    = 2 * time.Second
	watchMinInterval = 100 * time.Millisecond // daemons have other work too
)

// watchLine is one line of `status --watch --json`; the names are a promise.
type watchLine struct {
	At     time.Time         `json:"at"`
	Mounts []api.MountStatus `json:"mounts"`
}

// watch shows the status again and again until it is interrupted, which is its
// ordinary end. args may have the interval.
func (s *statusCommand) watch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		var err error
		if s.every, err = time.ParseDuration(args[0]); err != nil {
			return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--watch %s is no interval such as 2s or 500ms", human.Typed(args[0])), Next: "--watch=2s"}
		}
	}
	if s.every < watchMinInterval {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--watch %s is less than %s", s.every, watchMinInterval), Next: fmt.Sprintf("--watch=%s", watchMinInterval)}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	show, end := s.shower()
	defer end()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		mounts, err := host.ReadMounts()
		if err != nil {
			return err
		}
		all := client.StatusOfAll(ctx, mounts.JVSFS())
		if ctx.Err() != nil { // what was asked while it was interrupted has no meaning
			return nil
		}
		if err := show(watchLine{At: time.Now(), Mounts: all}); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// shower is how one status is shown (a line of JSON, a screen, or a block of text), and what is printed after
// the last one.
func (s *statusCommand) shower() (show func(watchLine) error, end func()) {
	nothing := func() {}
	if s.asJSON {
		enc := json.NewEncoder(s.io.Out)
		enc.SetEscapeHTML(false)
		return func(l watchLine) error { return enc.Encode(l) }, nothing
	}
	if tty := console.TerminalOf(s.io.Out); tty != nil && !console.DumbTerminal() {
		// The alternate screen: the terminal restores its former text at the end, and does not rewrap it when
		// its size changes.
		fmt.Fprint(tty, ansi.SetModeAltScreenSaveCursor)
		return func(l watchLine) error { return s.redraw(tty, l) }, func() { fmt.Fprint(tty, ansi.ResetModeAltScreenSaveCursor) }
	}
	gap := ""
	return func(l watchLine) error {
		_, err := fmt.Fprintf(s.io.Out, "%s%s\n%s", gap, l.At.Format(time.RFC3339), statusText(l.Mounts, l.At))
		gap = "\n"
		return err
	}, nothing
}

// redraw replaces what is on the screen without blanking it first, so that it does not
// flicker.
func (s *statusCommand) redraw(tty *os.File, l watchLine) error {
	width, height := 80, 24
	if size, err := unix.IoctlGetWinsize(int(tty.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
		width, height = int(size.Col), int(size.Row)
	}
	head := fmt.Sprintf("jvsfs status  every %s  %s  (Ctrl-C ends)", s.every, l.At.Format(time.TimeOnly))
	_, err := tty.WriteString(screen(head+"\n\n"+statusText(l.Mounts, l.At), width, height))
	return err
}

// screen fits text to a terminal: no line wraps, none scrolls, and the former text is erased.
func screen(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > height {
		left := len(lines) - height + 1
		lines = append(lines[:height-1:height-1], fmt.Sprintf("%d more lines", left))
	}
	var b bytes.Buffer
	b.WriteString(ansi.CursorHomePosition)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(ansi.Truncate(line, width, "…"))
		b.WriteString(ansi.EraseLineRight)
	}
	b.WriteString(ansi.EraseScreenBelow)
	return b.String()
}
