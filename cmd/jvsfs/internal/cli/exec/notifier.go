package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// notifierName is the hidden command that runs what exec --notify names.
const notifierName = "exec-notifier"

// The descriptors of a notifier.
const (
	notifierWord = 3 // ends with exec
	notifierSays = 4 // to exec
)

const (
	notifyPause = time.Second // between two runs
	notifyLimit = time.Minute // of one
)

// notifier runs a line of shell when what an exec started is refused a write.
type notifier struct {
	of   api.Process // exec
	line string
	dir  string // of exec
	says io.Writer

	began  time.Time
	last   time.Time // of the latest refusal that was told
	told   uint64    // how many were
	failed bool      // that has been said
}

// NewNotifier is the hidden command that runs the line of --notify.
func NewNotifier() *cobra.Command {
	detach := false
	cmd := &cobra.Command{
		Use: notifierName + " PID START CMD", Hidden: true, Args: usage.Args(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if detach {
				return detached(args)
			}
			return runNotifier(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "leave the parent")
	return cmd
}

func runNotifier(ctx context.Context, args []string) error {
	syscall.CloseOnExec(notifierWord)
	syscall.CloseOnExec(notifierSays)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	n := &notifier{line: args[2], says: os.NewFile(notifierSays, "says"), began: time.Now()}
	n.last = n.began
	var err error
	if n.of.PID, err = strconv.Atoi(args[0]); err == nil {
		n.of.Start, err = strconv.ParseUint(args[1], 10, 64)
	}
	if err == nil {
		n.dir, err = host.WorkingDirectory()
	}
	if err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil { // not to keep a mount busy
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() { // ends with exec
		defer close(over)
		_, _ = io.Copy(io.Discard, os.NewFile(notifierWord, "word")) // any end will do
	}()
	wake := make(chan struct{}, 1)
	followed := make(chan error, 1)
	go func() {
		followed <- client.FollowAll(ctx, false, false, func(e api.Event) error {
			if e.Kind == api.Refused {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
			return nil
		}, func() { _, _ = io.WriteString(n.says, notifierReady) })
	}()
	n.serve(ctx, wake, over)
	cancel()
	return <-followed
}

// serve runs the line after refusals until exec has ended, and then for what came last.
func (n *notifier) serve(ctx context.Context, wake, over <-chan struct{}) {
	for {
		select {
		case <-wake:
		case <-over:
			n.look(ctx)
			return
		}
		if !n.look(ctx) {
			continue
		}
		select {
		case <-time.After(notifyPause):
		case <-over:
		}
	}
}

// look runs the line if there are refusals that it has not been told of.
func (n *notifier) look(ctx context.Context) (ran bool) {
	latest, count := n.untold(ctx)
	if count == 0 {
		return false
	}
	n.last, n.told = latest.At, n.told+count
	if err := n.run(ctx, latest, count); err != nil && !n.failed {
		n.failed = true
		fmt.Fprintf(n.says, "jvsfs: --notify failed, which is said once: %v\n", err) // exec may have ended
	}
	return true
}

// untold is the latest refusal, and how many were not told yet: 0 if it was told.
func (n *notifier) untold(ctx context.Context) (latest refusals.Located, count uint64) {
	var all uint64
	mounts, err := host.ReadMounts()
	if err != nil {
		return latest, 0
	}
	span := time.Since(n.began) + api.AlikeWithin
	for _, a := range refusals.Ask(ctx, mounts.JVSFS(), notifyLimit, func(*mountinfo.Info) api.Refusals {
		return api.Refusals{Process: n.of, SinceMS: span.Milliseconds()}
	}) {
		for _, r := range a.Refusals {
			if r.WouldRefuse {
				continue
			}
			if all += r.Count; r.At.After(latest.At) {
				latest = r
			}
		}
	}
	if !latest.At.After(n.last) {
		return latest, 0
	}
	return latest, max(all, n.told+1) - n.told // the daemon may have forgotten some
}

func (n *notifier) run(ctx context.Context, r refusals.Located, count uint64) error {
	event, err := json.Marshal(api.Event{Kind: api.Refused, At: r.At, Mountpoint: r.Mountpoint, Worktree: r.Worktree, Path: r.Path, Refusal: &r.RefusalView})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, notifyLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", n.line)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "JVSFS_EVENT="+string(event), "JVSFS_EVENTS="+strconv.FormatUint(count, 10))
	cmd.Stdout, cmd.Stderr = tolerant{n.says}, tolerant{n.says}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// tolerant drops what nobody reads any more: the line must not end because exec has.
type tolerant struct{ io.Writer }

// Write is io.Writer's.
func (t tolerant) Write(p []byte) (int, error) {
	_, _ = t.Writer.Write(p)
	return len(p), nil
}
