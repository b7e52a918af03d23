package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"
)

// statusTimeout bounds the wait for one daemon; a stopped one must not hold the
// report up.
const statusTimeout = 2 * time.Second

type statusCommand struct {
	io     stdio
	asJSON bool
	every  time.Duration // 0: once
}

// statusReport is what `status --json` prints; the names are a promise.
type statusReport struct {
	Mounts []mountStatus `json:"mounts"`
}

func newStatusCommand(io stdio) *cobra.Command {
	s := &statusCommand{io: io}
	cmd := &cobra.Command{
		Use:   "status [--watch [INTERVAL]]",
		Short: "Show mounts, holders, tokens, time left, writes and refusals",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&s.asJSON, "json", false, "print JSON; with --watch a line of it each time")
	cmd.Flags().DurationVar(&s.every, "watch", 0, "show it again each `INTERVAL`, until interrupted")
	cmd.Flags().Lookup("watch").NoOptDefVal = watchInterval.String()
	return cmd
}

func (s *statusCommand) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("watch") {
		return s.watch(cmd.Context(), args)
	}
	if len(args) > 0 {
		return usagef("status takes no argument without --watch")
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	all := statusOfAll(cmd.Context(), mounts.jvsfs())
	if s.asJSON {
		return printJSON(s.io.out, statusReport{all})
	}
	_, err = fmt.Fprint(s.io.out, statusText(all, time.Now()))
	return err
}

// statusOfAll asks the daemons at the same time.
func statusOfAll(ctx context.Context, mounts []*mountinfo.Info) []mountStatus {
	all := make([]mountStatus, len(mounts))
	var run sync.WaitGroup
	for i, m := range mounts {
		run.Go(func() { all[i] = statusOf(ctx, m) })
	}
	run.Wait()
	return all
}

// statusOf never fails: a mount that does not answer is what is reported.
func statusOf(ctx context.Context, m *mountinfo.Info) mountStatus {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st := mountStatus{Mountpoint: m.Mountpoint, Source: m.Source, Device: deviceOf(m).String()}
	resp, err := ask(ctx, m, request{Op: opStatus}, nil, nil)
	if err != nil {
		st.unserved(err)
		return st
	}
	if err := json.Unmarshal(resp.Result, &st); err != nil {
		st.State, st.Detail = "silent", err.Error()
	}
	st.Mountpoint = m.Mountpoint // a bind mount of the same daemon has another
	return st
}

// unserved says what a failure to learn the status means. Dead is a mount only where
// there is no daemon: what is said about a dead one would end the mount of a living one.
func (st *mountStatus) unserved(err error) {
	st.Detail = err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		st.State, st.Detail, st.Next = "silent", "its daemon does not answer: it may be stopped", nextOfSilent
	case errors.Is(err, os.ErrPermission):
		st.State = "forbidden"
	case nobodyThere(err):
		st.State, st.Next = "dead", asFailure(err).Next
	default:
		st.State, st.Next = "silent", asFailure(err).Next
	}
}

func statusText(all []mountStatus, now time.Time) string {
	if len(all) == 0 {
		return "no jvsfs mounts\n"
	}
	var b strings.Builder
	for i, st := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s  %s", printable(st.Mountpoint), st.State)
		if st.Source != "" && st.Source != st.Mountpoint {
			fmt.Fprintf(&b, "  source %s", printable(st.Source))
		}
		if st.PID != 0 {
			fmt.Fprintf(&b, "  pid %d", st.PID)
		}
		if st.Enforce != "" {
			fmt.Fprintf(&b, "  %s", st.modeText())
		}
		if st.Local {
			b.WriteString("  fence local to this machine")
		}
		b.WriteByte('\n')
		if st.Detail != "" {
			fmt.Fprintf(&b, "  %s\n", printable(st.Detail))
		}
		if st.Next != "" {
			fmt.Fprintf(&b, "  next: %s\n", printable(st.Next))
		}
		b.WriteString(indent(worktreesText(st, now)))
		texts, _ := crowding(st)
		b.WriteString(indent(strings.Join(texts, "\n")))
	}
	return b.String()
}

func worktreesText(st mountStatus, now time.Time) string {
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
			left = spanText(w.ExpiresAt.Sub(now))
		}
		holder := "-"
		if w.HolderID != "" {
			holder = printable(w.HolderID)
			if w.Purpose != "" {
				holder += " (" + printable(w.Purpose) + ")"
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
	return table(heads, rows)
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
