package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease/audit"
)

type auditCommand struct {
	flags.Records
	io     console.Streams
	asJSON bool
	lines  int
	goOn   bool // tail does not end
}

// New is jvsfs audit, with its subcommands.
func New(io console.Streams) *cobra.Command {
	a := &auditCommand{io: io}
	cmd := &cobra.Command{
		Use: "audit", Short: "Verify and show the audit chain",
		Long: `Each lease that is taken, stolen, lost, continued after a pause or given back is a
line of the audit chain, and so is each kind of refusal. The chain of a repository is .jvs/audit/audit.jsonl.
The chain of a plain directory is beside its records. Each line carries the hash of
the line before.`,
		Args: usage.Args(cobra.NoArgs),
		RunE: usage.ShowHelp,
	}
	verify := &cobra.Command{
		Use: "verify PATH", Short: "Check that no line was changed, removed or added, and that the end is there",
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.verify(cmd.Context(), args[0]) },
	}
	tail := &cobra.Command{
		Use: "tail PATH", Short: "Show the latest events",
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.tail(cmd.Context(), args[0]) },
	}
	for _, c := range []*cobra.Command{verify, tail} {
		a.AddFlags(c.Flags())
		c.Flags().BoolVar(&a.asJSON, "json", false, "print JSON")
	}
	tail.Flags().BoolVarP(&a.goOn, "follow", "f", false, "go on with what is added, also after a rotation, until interrupted")
	tail.Flags().IntVarP(&a.lines, "lines", "n", 10, "show this `MANY` events")
	cmd.AddCommand(verify, tail)
	return cmd
}

// find finds the chain of a path and its lock directory: by the mount's daemon, or by the place itself.
func (a *auditCommand) find(ctx context.Context, path string) (log, locks string, err error) {
	control, _, err := a.Load()
	if err != nil {
		return "", "", err
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", "", err
	}
	abs, m, err := host.Resolve(path, mounts)
	if err != nil {
		return "", "", err
	}
	if host.IsJVSFS(m) {
		st := client.StatusOf(ctx, m)
		log, locks = st.Audit, st.Locks
	}
	if log == "" {
		p, err := place.SourceAt(abs, control, layout.Auto)
		if err != nil || p.Shape == api.ShapeDirectory {
			if p, err = place.WorktreeOf(abs, control); err != nil {
				return "", "", err
			}
		}
		log, locks = p.AuditPath(), p.LockDir
	}
	return log, locks, nil
}

// What is known of a chain's end.
const (
	endAnchored   = "anchored"   // the records say how far it went
	endUnanchored = "unanchored" // no event was written since the records do
	endUnknown    = "unknown"    // only root may look there
)

// auditReport is `audit verify --json`; the names are a promise.
type auditReport struct {
	File    string        `json:"file"`
	OK      bool          `json:"ok"`
	Records int           `json:"records"`
	End     string        `json:"end"`
	Faults  []audit.Fault `json:"faults,omitempty"`
}

func (a *auditCommand) verify(ctx context.Context, path string) error {
	log, locks, err := a.find(ctx, path)
	if err != nil {
		return err
	}
	anchor, unknown := audit.ReadAnchor(locks) // before the chain, which it must not lead
	r := auditReport{File: log}
	switch {
	case unknown == nil:
		r.End = endAnchored
	case errors.Is(unknown, os.ErrNotExist):
		r.End = endUnanchored
	case errors.Is(unknown, os.ErrPermission):
		r.End = endUnknown
	default:
		return unknown
	}
	if err := r.read(&anchor); err != nil {
		return err
	}
	if a.asJSON {
		err = human.PrintJSON(a.io.Out, r)
	} else {
		_, err = fmt.Fprint(a.io.Out, r.text())
	}
	if err == nil && !r.OK {
		return api.ExitWith(api.ExitError)
	}
	return err
}

// read verifies the chain, with the anchor if there is one.
func (r *auditReport) read(anchor *audit.Anchor) error {
	if r.End != endAnchored {
		anchor = nil
	}
	f, err := host.OpenRegular(r.File)
	switch {
	case errors.Is(err, os.ErrNotExist) && anchor != nil:
		r.Faults = []audit.Fault{{Line: 1, Message: "the whole chain is missing"}}
		return nil
	case errors.Is(err, os.ErrNotExist):
		return &api.Failure{Message: "there is no audit chain yet: nobody has held a lease there", File: r.File, Err: err,
			Next: "it begins with the first lease; jvsfs status shows what is mounted"}
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	// The daemon appends behind a mount: how long the file is may have been asked for before.
	var st unix.Statx_t
	_ = unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_SIZE, &st) // what fails will fail to be read
	r.Records, r.Faults, err = audit.Verify(f, anchor)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	r.OK = len(r.Faults) == 0
	return nil
}

func (r auditReport) text() string {
	var b strings.Builder
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "%s:%d: %s\n", r.File, f.Line, human.Printable(f.Message))
	}
	if r.OK {
		fmt.Fprintf(&b, "%s: %d records, the chain is whole%s\n", r.File, r.Records, map[string]string{
			endUnanchored: "; nothing says yet whether its end is missing",
			endUnknown:    " as far as it goes; whether its end is missing is for root to see",
		}[r.End])
	} else {
		fmt.Fprintf(&b, "%s: %d records, the chain is broken\nnext: keep a copy of it, and see who can write there: ls -la %s\n",
			r.File, r.Records, human.Typed(filepath.Dir(r.File)))
	}
	return b.String()
}

func (a *auditCommand) tail(ctx context.Context, path string) error {
	if a.lines < 0 {
		return api.Usagef("--lines is a number of events, and not %d", a.lines)
	}
	log, _, err := a.find(ctx, path)
	if err != nil {
		return err
	}
	if a.goOn {
		return a.follow(ctx, log)
	}
	f, err := host.OpenRegular(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing has happened yet
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var last []audit.Record
	err = audit.Tail(f, func(r audit.Record) error {
		if last = append(last, r); len(last) > max(a.lines, 0) {
			last = last[1:]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	for _, r := range last {
		if err := a.show(r); err != nil {
			return err
		}
	}
	return nil
}

// show prints one record: as the line that it is, or for people.
func (a *auditCommand) show(r audit.Record) error {
	if a.asJSON {
		return json.NewEncoder(a.io.Out).Encode(r)
	}
	_, err := fmt.Fprintf(a.io.Out, "%s  %-16s %-12s %s\n", human.Clock(r.Timestamp), human.Printable(r.EventType),
		human.Printable(r.Worktree), human.Printable(auditSummary(r.Details)))
	return err
}

// auditSummary words the details of an event in one line: all of them, first what says most.
func auditSummary(d map[string]any) string {
	first := []string{"fencing_token", "operation", "path", "class", "count", "holder_id", "purpose"}
	last := []string{"reason"}
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(d)), func(k string) bool { return slices.Contains(first, k) || slices.Contains(last, k) })
	var parts []string
	for _, k := range slices.Concat(first, rest, last) {
		if v, ok := d[k]; ok && v != "" {
			parts = append(parts, fmt.Sprintf("%s=%v", strings.TrimSuffix(k, "_id"), v))
		}
	}
	return strings.Join(parts, " ")
}
