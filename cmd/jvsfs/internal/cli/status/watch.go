package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

type watchCommand struct {
	io     console.Streams
	asJSON bool
	since  string // N or RUN:N; "": from now on
	locks  bool   // those of rules that are taken and released, too

	mu sync.Mutex // orders lines
}

// NewWatch is jvsfs watch.
func NewWatch(io console.Streams) *cobra.Command {
	w := &watchCommand{io: io}
	cmd := &cobra.Command{
		Use:   "watch [PATH...]",
		Short: "Tell what happens to leases, refusals and modes, as it happens",
		Long: `Tell each lease that is acquired, released, lost, stolen, resumed or handed over,
each write that is refused or would be, and each switch of the mode: a line each,
as it happens. Without PATH it tells of all mounts, also of those that come later.
Of the lock files of rules it tells what their programs did not intend: a lock that was
broken, whose holder has ended or is not known, that was changed past the mount; and
each maintenance window. With --locks it tells each that is taken and released, too,
from then on: their lines have no number, and how many were missed is told.

Events have numbers (seq), which grow by one within the run of a daemon. --since
tells what happened after a number, as far as the daemon remembers it: it keeps the
last 2048 events. What it does not know any more is told as missed.

It ends with 0 when it is interrupted, or when each mount that PATH names is gone.
Other users' refusals are told to root alone.`,
		Args: usage.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return w.run(ctx, args)
		},
	}
	cmd.Flags().BoolVar(&w.asJSON, "json", false, "print a line of JSON for each event")
	cmd.Flags().BoolVar(&w.locks, "locks", false, "tell each lock of a rule that is taken and released, too")
	cmd.Flags().StringVar(&w.since, "since", "", "tell what happened after event `NUMBER` (0: all that is remembered), or after RUN:NUMBER")
	return cmd
}

func (w *watchCommand) run(ctx context.Context, paths []string) error {
	start, err := parseSince(w.since)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		if start.Since != 0 || start.Run != "" {
			return &api.Failure{Class: api.ClassUsage, Message: "--since " + human.Typed(w.since) + " is a number of one mount: say which", Next: "jvsfs watch --since " + human.Typed(w.since) + " MOUNTPOINT"}
		}
		return client.FollowAll(ctx, w.since != "", w.locks, w.tell, func() {})
	}
	all, err := w.named(ctx, paths, start)
	if err != nil {
		return err
	}
	return followEach(ctx, all)
}

// parseSince reads N or RUN:N.
func parseSince(text string) (client.Follower, error) {
	run, number, both := strings.Cut(text, ":")
	if !both {
		run, number = "", text
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if text != "" && (err != nil || both && run == "") {
		return client.Follower{}, &api.Failure{Class: api.ClassUsage, Message: "--since " + human.Typed(text) + " is no number of an event", Next: "--since 0 for all that is remembered; the fields run and seq of watch --json are --since RUN:SEQ"}
	}
	return client.Follower{Run: run, Since: n}, nil
}

// Named are the mounts of paths, each once.
func (w *watchCommand) named(ctx context.Context, paths []string, start client.Follower) (all []*client.Follower, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		t, err := client.Find(ctx, path, "")
		if err == nil && t.Mount == nil {
			err = &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("%s is on no jvsfs mount", t.Path), Next: "jvsfs status lists the mounts"}
		}
		if err != nil {
			return nil, err
		}
		if seen[t.Mount.Mountpoint] {
			continue
		}
		seen[t.Mount.Mountpoint] = true
		f := &client.Follower{Mountpoint: t.Mount.Mountpoint, Run: start.Run, Since: start.Since, Tell: w.tell, Locks: w.locks}
		if err := w.begin(ctx, f, t.Mount); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) > 1 && (start.Since != 0 || start.Run != "") {
		return nil, &api.Failure{Class: api.ClassUsage, Message: "--since " + human.Typed(w.since) + " is a number of one mount, and there are several", Next: "one jvsfs watch for each of them"}
	}
	return all, nil
}

// begin makes sure that the daemon answers, and skips the past unless it is asked for.
func (w *watchCommand) begin(ctx context.Context, f *client.Follower, m *mountinfo.Info) error {
	if w.since == "" {
		return f.FromNowOn(ctx, m)
	}
	return client.Ping(ctx, m)
}

// followEach follows until each mount is gone.
func followEach(ctx context.Context, all []*client.Follower) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error, len(all))
	for _, f := range all {
		go func() { ends <- f.Follow(ctx) }()
	}
	var errs []error
	for range all {
		err := <-ends
		if errs = append(errs, err); err != nil {
			cancel()
		}
	}
	return errors.Join(errs...)
}

// Tell prints an event.
func (w *watchCommand) tell(e api.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asJSON {
		_, err := fmt.Fprintln(w.io.Out, human.Printable(eventText(e)))
		return err
	}
	enc := json.NewEncoder(w.io.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
