package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

type explainCommand struct {
	flags.Records
	pid    int
	since  time.Duration
	asJSON bool
}

// sinceDefault is how far back explain looks for refusals. It is long enough for a command that has just
// failed.
const sinceDefault = 10 * time.Second

// New is jvsfs explain.
func New(io console.Streams) *cobra.Command {
	e := &explainCommand{}
	cmd := &cobra.Command{
		Use: "explain [PATH]", Short: "Say why a write would pass or was refused, and what to do",
		Long: `Say why a write to PATH would pass or would be refused, and what to do. The exit code
is 0 if the write would pass. Otherwise it is that of the class of the refusal. If the
process lacks permission for the file or for a directory, explain says so too; that does
not change the exit code, because such a file can be replaced in a directory of its own.

Without PATH, explain shows what was refused in the last seconds to the processes of
the session of this command, or with --pid to process N and its descendants. They may
have ended. It also says whether the process may write now: in the worktrees of these
refusals, and in the mounts where it has its working directory or open files.
The exit code is that of the latest refusal. If there is none, it is that of a worktree
that the process may not write to; then that of a mount that the process uses and that
does not answer; then 0.`,
		Args: usage.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case usage.CheckPID("pid", e.pid) != nil:
				return usage.CheckPID("pid", e.pid)
			case e.since < 0:
				return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--since %s is in the future", e.since), Next: fmt.Sprintf("--since %s", -e.since)}
			case len(args) == 0:
				return e.recent(cmd.Context(), io)
			case cmd.Flags().Changed("since"):
				return &api.Failure{Class: api.ClassUsage, Message: "--since looks back at refusals, and goes without PATH: " + human.Typed(args[0]),
					Next: "jvsfs explain --since " + e.since.String()}
			}
			return e.run(cmd.Context(), io, args[0])
		},
	}
	e.AddFlags(cmd.Flags())
	cmd.Flags().IntVar(&e.pid, "pid", 0, "explain for process `N` (default: for this command, as its shell started it)")
	cmd.Flags().DurationVar(&e.since, "since", sinceDefault, "without PATH: look back this `LONG`")
	cmd.Flags().BoolVar(&e.asJSON, "json", false, "print JSON")
	return cmd
}

func (e *explainCommand) run(ctx context.Context, io console.Streams, path string) error {
	control, terms, err := e.Load()
	if err != nil {
		return err
	}
	t, err := client.Find(ctx, path, control)
	if err != nil && t.Path == "" {
		return err
	}
	if t.Mount == nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err // in a worktree that is known, what is to be made need not be there
		}
		return e.unmounted(io, t, terms.Policy, err)
	}
	x, err := e.ask(ctx, t)
	if err != nil {
		return err
	}
	if e.asJSON {
		err = human.PrintJSON(io.Out, x)
	} else {
		_, err = fmt.Fprint(io.Out, explanationText(x, time.Now()))
	}
	if err != nil || x.Allowed {
		return err
	}
	return api.ExitWith(api.ExitCodeOf(x.Class))
}

func (e *explainCommand) ask(ctx context.Context, t client.Target) (api.Explanation, error) {
	who := api.Process{PID: e.pid, Explicit: e.pid != 0}
	if who.PID == 0 {
		pid, err := host.AskingProcess()
		if err != nil {
			return api.Explanation{}, err
		}
		who.PID = pid
	}
	x, err := client.Explain(ctx, t, who)
	if h := x.Holder; err == nil && h != nil && x.Class == lease.ClassLockConflict && !heldByRule(x) {
		x.Next = cmp.Or(lookup.NextOfOwn(h.ID, h.UID, h.PID, t.Path), x.Next)
	}
	return x, err
}

// heldByRule reports whether the holder has a lock file, and not the lease.
func heldByRule(x api.Explanation) bool {
	return slices.ContainsFunc(x.Rules, func(v tenure.View) bool {
		return v.Holder != nil && v.Holder.ID == x.Holder.ID && v.Tenure == uint64(x.Holder.Token)
	})
}

// unmounted explains a path that no mount serves. Nothing fences it, whatever its record says.
func (e *explainCommand) unmounted(io console.Streams, t client.Target, policy record.Policy, found error) error {
	x := api.Explanation{}
	x.Path, x.Allowed = t.Path, true
	x.Sentence = "the path is on no jvsfs mount: nothing fences writes there"
	x.Next = "jvsfs mount " + human.Typed(sourceOf(t)) + " fences it"
	if found == nil {
		x.Worktree = t.Place.ID
		head, j, err := lockop.Peek(t.Place, policy)
		switch {
		case err == nil && j.State != lease.Free:
			x.Holder = viewForExplain(head)
			x.Sentence += fmt.Sprintf("; the record of worktree %s is %s", t.Place.ID, j.State)
			if j.Reason != "" {
				x.Sentence += " (" + human.Printable(j.Reason) + ")"
			}
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			x.Sentence += "; its record cannot be looked at: " + err.Error()
		}
	}
	if e.asJSON {
		return human.PrintJSON(io.Out, x)
	}
	_, err := fmt.Fprint(io.Out, explanationText(x, time.Now()))
	return err
}

// sourceOf is what would be mounted to fence a path.
func sourceOf(t client.Target) string {
	if p, _, err := place.Above(t.Path); err == nil {
		return p.Root
	}
	return t.Path
}

func viewForExplain(head lease.Head) *gate.HolderView {
	if head.Record == nil {
		return nil
	}
	v := gate.ViewOf(head.Record.Holder(), head.Token)
	v.OfRecord(head.Record)
	return v
}

func explanationText(x api.Explanation, now time.Time) string {
	var b strings.Builder
	path := human.Printable(x.Path)
	switch {
	case x.Allowed && x.NotPermitted != "":
		fmt.Fprintf(&b, "%s: jvsfs would not refuse a write by process %d, but the file system would\n", path, x.PID)
	case x.Allowed && x.PID != 0:
		fmt.Fprintf(&b, "%s: a write by process %d would pass\n", path, x.PID)
	case x.Allowed:
		fmt.Fprintf(&b, "%s: a write would pass\n", path)
	default:
		fmt.Fprintf(&b, "%s: a write by process %d would be refused with %s (%s)\n", path, x.PID, x.Errno, x.Class)
	}
	fmt.Fprintf(&b, "  %s\n", human.Printable(x.Sentence))
	if h := x.Holder; h != nil {
		fmt.Fprintf(&b, "  holder: %s, scope %s, token %d", human.Printable(h.ID), human.Printable(h.Scope), h.Token)
		if h.Purpose != "" {
			fmt.Fprintf(&b, ", for %s", human.Printable(h.Purpose))
		}
		if h.ExpiresAt != nil {
			left := h.ExpiresAt.Sub(now)
			if x.Status.Token == h.Token && x.Status.State == api.StateHeld { // as the sentence and jvsfs status say
				left = api.LeaseLeft(x.Status, now)
			}
			fmt.Fprintf(&b, ", until %s (%s)", human.Clock(now.Add(left)), human.Left(left))
		}
		b.WriteByte('\n')
	}
	if x.NotPermitted != "" {
		fmt.Fprintf(&b, "  the process lacks permission for %s: its owner, mode and ACL decide, whoever holds the lease\n",
			human.Printable(filepath.Join(x.Mountpoint, x.NotPermitted)))
	}
	if x.Next != "" {
		fmt.Fprintf(&b, "  next: %s\n", human.Printable(x.Next))
	}
	return b.String()
}
