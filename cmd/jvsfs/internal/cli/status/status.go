package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

type statusCommand struct {
	io     console.Streams
	asJSON bool
	every  time.Duration // 0: once
}

// statusReport is what `status --json` prints; the names are a promise.
type statusReport struct {
	Mounts []api.MountStatus `json:"mounts"`
}

// New is jvsfs status.
func New(io console.Streams) *cobra.Command {
	s := &statusCommand{io: io}
	cmd := &cobra.Command{
		Use:   "status [--watch [INTERVAL]]",
		Short: "Show mounts, holders, tokens, time left, writes and refusals",
		Args:  usage.Args(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&s.asJSON, "json", false, "print JSON; with --watch one line each time")
	cmd.Flags().DurationVar(&s.every, "watch", 0, "show it again every `INTERVAL`, until interrupted")
	cmd.Flags().Lookup("watch").NoOptDefVal = watchInterval.String()
	return cmd
}

func (s *statusCommand) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("watch") {
		return s.watch(cmd.Context(), args)
	}
	if len(args) > 0 {
		return &api.Failure{Class: api.ClassUsage, Message: "jvsfs status shows all mounts, and takes no path: " + human.Typed(args[0]),
			Next: "jvsfs lock status " + human.Typed(args[0])}
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	all := client.StatusOfAll(cmd.Context(), mounts.JVSFS())
	if s.asJSON {
		return human.PrintJSON(s.io.Out, statusReport{all})
	}
	_, err = fmt.Fprint(s.io.Out, statusText(all, time.Now()))
	return err
}

func statusText(all []api.MountStatus, now time.Time) string {
	if len(all) == 0 {
		return "no jvsfs mounts\n"
	}
	var b strings.Builder
	for i, st := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s  %s", human.Printable(st.Mountpoint), st.State)
		if st.Source != "" && st.Source != st.Mountpoint {
			fmt.Fprintf(&b, "  source %s", human.Printable(st.Source))
		}
		if st.PID != 0 {
			fmt.Fprintf(&b, "  pid %d", st.PID)
		}
		if st.Enforce != "" {
			fmt.Fprintf(&b, "  %s", st.ModeText())
		}
		if st.Local {
			b.WriteString("  fence local to this machine")
		}
		b.WriteByte('\n')
		if st.Detail != "" {
			fmt.Fprintf(&b, "  %s\n", human.Printable(st.Detail))
		}
		if st.Next != "" {
			fmt.Fprintf(&b, "  next: %s\n", human.Printable(st.Next))
		}
		if st.Store != nil {
			fmt.Fprintf(&b, "  %s\n", human.Printable(st.Store.Text()))
		}
		b.WriteString(human.Indent(worktreesText(st, now)))
		b.WriteString(human.Indent(rulesOfStatus(st.Rules, now) + Windows(st.Windows)))
		texts, _ := client.Crowding(st)
		b.WriteString(human.Indent(strings.Join(texts, "\n")))
	}
	return b.String()
}

func worktreesText(st api.MountStatus, now time.Time) string {
	if st.State != "serving" {
		return ""
	}
	if len(st.Worktrees) == 0 {
		return "nothing has been written yet\n"
	}
	rows := make([][]string, 0, len(st.Worktrees))
	exempt := slices.ContainsFunc(st.Worktrees, func(w gate.Status) bool { return w.ExemptWrites > 0 })
	for _, w := range st.Worktrees {
		left := "-"
		if w.ExpiresAt != nil {
			left = human.Span(api.LeaseLeft(w, now))
		}
		holder := "-"
		if w.HolderID != "" {
			holder = human.Printable(w.HolderID)
			if w.Purpose != "" {
				holder += " (" + human.Printable(w.Purpose) + ")"
			}
		}
		rows = append(rows, []string{
			string(w.Worktree), w.State, fmt.Sprint(w.Token), holder, left,
			fmt.Sprint(w.Writes), fmt.Sprint(w.Refusals), fmt.Sprint(w.WouldRefuse),
		})
		if exempt {
			rows[len(rows)-1] = append(rows[len(rows)-1], fmt.Sprint(w.ExemptWrites))
		}
	}
	heads := []string{"WORKTREE", "STATE", "TOKEN", "HOLDER", "LEFT", "WRITES", "REFUSED", "WOULD REFUSE"}
	if exempt {
		heads = append(heads, "EXEMPT")
	}
	return human.Table(heads, rows) + wentOn(st.Worktrees) + silentText(st.Worktrees) + quiescedText(st.Worktrees)
}

// quiescedText names the worktrees whose writers wait for a snapshot.
func quiescedText(all []gate.Status) string {
	var b strings.Builder
	for _, w := range all {
		switch q := w.Quiesced; {
		case q == nil:
		case q.Until == nil:
			fmt.Fprintf(&b, "%s: writes wait for those in flight, to be quiesced for %s (%s)\n", w.Worktree, human.Printable(q.Command), human.Printable(q.By))
		default:
			fmt.Fprintf(&b, "%s: quiesced since %s for %s (%s): writes wait, until %s at the latest\n",
				w.Worktree, human.Clock(*q.Since), human.Printable(q.Command), human.Printable(q.By), human.Clock(*q.Until))
		}
	}
	return b.String()
}

// silentText names the worktrees whose records do not answer, where what is shown of them is old, or cannot be read: which file, and why.
func silentText(all []gate.Status) string {
	var b strings.Builder
	for _, w := range all {
		if w.SilentMS != 0 || w.CutOff || w.State == lease.Unreadable.String() {
			fmt.Fprintf(&b, "%s: %s\n", w.Worktree, human.Printable(w.Detail))
		}
	}
	return b.String()
}

// wentOn names the holders that went on after a pause.
func wentOn(all []gate.Status) string {
	var b strings.Builder
	for _, w := range all {
		if w.SinceToken != 0 {
			fmt.Fprintf(&b, "%s: %s\n", w.Worktree, human.Printable(w.Detail))
		}
	}
	return b.String()
}
