// Command runner runs stories side by side: each top-level test of a package below integration is a process of its own, in mount and
// process namespaces of its own (harness.Main). A story mostly waits, for a lease, a disk or the end of a process, so many fit on a
// processor; how many at a time is decided by how idle the processors are (see slots). What one story leaves behind, another cannot
// see, and a story that fails is repeated alone by the command that is printed with it.
//
//	go run ./integration/runner ./integration/lease ./integration/daemon
//	go run ./integration/runner --run 'Steal' ./integration/...    those whose name matches
//	go run ./integration/runner --times FILE ./integration/...     the seconds of each, longest first
//	go run ./integration/runner --repeat 20 --run '^TestX$' ./integration/lease
//
// It needs what the stories need: root and /dev/fuse. It ends with "N passed, N failed, N skipped", tests and subtests counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// options are what the command line asks for.
type options struct {
	run, times, counts string
	atOnce, repeat     int
	timeout            time.Duration
	quiet              bool
	packages           []string
}

func main() {
	var o options
	flag.StringVar(&o.run, "run", "", "only stories whose name matches this `REGEXP`")
	flag.StringVar(&o.times, "times", "", "write the seconds and processor seconds of each story to this `FILE`, longest first")
	flag.StringVar(&o.counts, "counts", "", "write \"passed failed skipped\" to this `FILE`")
	flag.IntVar(&o.atOnce, "at-once", 8*runtime.NumCPU(), "run so `MANY` stories at a time at most")
	flag.IntVar(&o.repeat, "repeat", 1, "run each story so `MANY` times")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Minute, "the `TIME` after which a story that runs prints its stacks and fails")
	flag.BoolVar(&o.quiet, "quiet", false, "do not print the stories that pass")
	flag.Parse()
	if o.packages = flag.Args(); len(o.packages) == 0 || o.repeat < 1 || o.atOnce < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
	}
	os.Exit(code)
}

// keptIn is where what failed leaves its outputs and logs; stories that need more room for them than a screen are told of it.
func keptIn() (string, error) {
	dir, err := filepath.Abs(os.Getenv("JVSFS_TEST_KEEP"))
	if err != nil {
		return "", err
	}
	if os.Getenv("JVSFS_TEST_KEEP") == "" {
		dir = ""
	}
	dir, err = os.MkdirTemp(dir, "jvsfs-failed-")
	if err != nil {
		return "", err
	}
	return dir, os.Setenv("JVSFS_TEST_KEEP", dir)
}

// run builds the stories, runs them, and tells about each as it ends. The code is 0 when each passed.
func run(ctx context.Context, o options) (code int, err error) {
	work, err := os.MkdirTemp("", "jvsfs-runner-")
	if err != nil {
		return 1, err
	}
	defer func() {
		if gone := os.RemoveAll(work); gone != nil && err == nil {
			code, err = 1, gone
		}
	}()
	// Stories of other users start the programs in it.
	if err := os.Chmod(work, 0o755); err != nil {
		return 1, err
	}
	stories, err := collect(ctx, work, o)
	if err != nil {
		return 1, err
	}
	r := &report{out: os.Stdout, quiet: o.quiet}
	if r.logs, err = keptIn(); err != nil {
		return 1, err
	}
	defer os.Remove(r.logs) //nolint:errcheck // it stays if there is something in it: the whole outputs of what failed
	runAll(ctx, stories, newSlots(o.atOnce), o.timeout, r.tell)
	if err := r.end(o); err != nil {
		return 1, err
	}
	if err := ctx.Err(); err != nil {
		return 130, fmt.Errorf("interrupted after %d of %d stories", len(r.ended), len(stories))
	}
	if r.failed+r.skipped > 0 {
		return 1, nil
	}
	return 0, nil
}
