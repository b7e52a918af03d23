package console

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// A command that waits says for what and for how long: on a terminal in one line, which is drawn anew each
// second and goes when the wait ends, elsewhere in a line each 10 s.
const (
	waitsOnTerminal  = time.Second
	waitsOnPipe      = 10 * time.Second
	waitsLookTimeout = 2 * time.Second
)

// Waits shows one wait. What it waits for may change meanwhile. Safe for concurrent use.
type Waits struct {
	io   Streams
	tty  *os.File // nil: no terminal
	look func(context.Context) string

	begun time.Time

	mu    sync.Mutex
	drawn bool
}

// NewWaits shows what look says. look is asked again each time, and may take a while.
func NewWaits(io Streams, look func(context.Context) string) *Waits {
	w := &Waits{io: io, look: look}
	if tty := TerminalOf(io.Err); tty != nil && !DumbTerminal() {
		w.tty = tty
	}
	return w
}

// WaitsFor is a look at what does not change.
func WaitsFor(what string) func(context.Context) string {
	return func(context.Context) string { return what }
}

// During shows the wait as long as do lasts.
func (w *Waits) During(ctx context.Context, do func() error) error {
	w.begun = time.Now()
	ctx, end := context.WithCancel(ctx)
	var shows sync.WaitGroup
	every := waitsOnPipe
	if w.tty != nil {
		every = waitsOnTerminal
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	shows.Go(func() { w.run(ctx, tick.C) })
	err := do()
	end()
	shows.Wait()
	w.erase()
	return err
}

func (w *Waits) run(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick:
			short, end := context.WithTimeout(ctx, waitsLookTimeout)
			what := w.look(short)
			end()
			if ctx.Err() == nil {
				w.show(what, at)
			}
		}
	}
}

// show says what is waited for.
func (w *Waits) show(what string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := waitsText(what, at.Sub(w.begun))
	if w.tty == nil {
		fmt.Fprintln(w.io.Err, text)
		return
	}
	w.drawn = true
	fmt.Fprint(w.tty, "\r"+ansi.Truncate(text, human.Columns(w.tty)-1, "…")+ansi.EraseLineRight)
}

func waitsText(what string, d time.Duration) string {
	return fmt.Sprintf("jvsfs: waiting %s for %s", d.Round(time.Second), human.Printable(what))
}

func (w *Waits) erase() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eraseLocked()
}

func (w *Waits) eraseLocked() {
	if w.drawn {
		w.drawn = false
		fmt.Fprint(w.tty, "\r"+ansi.EraseLineRight)
	}
}

// Note prints a line that stays. Under the lock, lest the wait is drawn into it.
func (w *Waits) Note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eraseLocked()
	Note(w.io)(text)
}
