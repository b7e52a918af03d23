package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The first argument of the processes that the driver starts.
const modeClient = "client"

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == modeClient {
		return clientMain()
	}
	if len(args) == 1 && args[0] == modeSpin {
		return spinMain()
	}
	if len(args) == 2 && args[0] == modeSession {
		return sessionMain(args[1])
	}
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	rep := report{Conditions: currentConditions(opts)}
	err = rep.bench(ctx, opts)
	return errors.Join(err, rep.write(opts)) // what was measured before an error is shown
}

// bench leaves nothing behind when it returns.
func (rep *report) bench(ctx context.Context, opts options) (err error) {
	work, err := os.MkdirTemp(opts.dir, "jvsfs-bench.")
	if err != nil {
		return err
	}
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	// Nothing may be deleted through a mount that is still there.
	defer func() { err = errors.Join(err, removeUnmounted(work)) }()
	scratch := filepath.Join(work, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	return rep.fill(ctx, opts, work, scratch)
}

func (rep *report) fill(ctx context.Context, opts options, work, scratch string) error {
	for _, open := range opts.media {
		m, err := open(work)
		if err != nil {
			return err
		}
		run, err := measure(ctx, opts, m, scratch)
		rep.Media = append(rep.Media, run)
		if err != nil {
			return err
		}
	}
	return nil
}

func removeUnmounted(work string) error {
	if mountedBelow(work) {
		return fmt.Errorf("something is still mounted below %s", work)
	}
	return os.RemoveAll(work)
}
