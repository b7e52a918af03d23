package console

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// endedBySignal is the signal that has ended a context of UntilSignal, 0 for none. Signals are the process's.
var endedBySignal atomic.Int32

// UntilSignal is a context that ends with SIGINT or SIGTERM, as of signal.NotifyContext. endedBySignal says which one it was.
func UntilSignal(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the context
		select {
		case s := <-signals:
			endedBySignal.Store(int32(s.(syscall.Signal)))
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// Interruptible is what a command runs until SIGINT or SIGTERM ends its context.
func Interruptible(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := UntilSignal(cmd.Context())
		defer stop()
		return run(ctx, args)
	}
}

// DieOfKey has a command that Ctrl-C has interrupted at a terminal end by that signal. A shell ends a loop or a script only if the command in it
// has died of Ctrl-C, not if it exits with 130.
func DieOfKey(f *api.Failure) {
	if f.Code != api.ExitInterrupted || syscall.Signal(endedBySignal.Load()) != syscall.SIGINT {
		return
	}
	if tty := OpenTerminal(); tty != nil {
		_ = tty.Close() // nothing was written to it
		f.Signal = syscall.SIGINT
	}
}

// Hear asks for the signals that CMD is to get. Those that this process was started to ignore (nohup, a job in the background of a script)
// stay ignored, for CMD as well: Notify would undo that.
//
// The runtime leaves SIGHUP and SIGINT alone if they are ignored, and catches SIGQUIT all the same, so that nobody can tell. A shell
// without job control ignores SIGINT and SIGQUIT together for what it starts in the background (POSIX, asynchronous lists).
func Hear(signals chan<- os.Signal, all ...os.Signal) {
	IgnoreWhatIsIgnored()
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

// IgnoreWhatIsIgnored does for this process what the runtime has undone.
func IgnoreWhatIsIgnored() {
	if signal.Ignored(syscall.SIGINT) {
		signal.Ignore(syscall.SIGQUIT)
	}
}
