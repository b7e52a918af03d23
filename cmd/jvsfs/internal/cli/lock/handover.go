package lock

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// handoverCommand is `lock handover`.
type handoverCommand struct {
	toPID     int
	toSession int
	toHost    string
	scope     string
	purpose   string
	wait      time.Duration
	asJSON    bool
}

func newHandover(io console.Streams) *cobra.Command {
	h := &handoverCommand{}
	cmd := &cobra.Command{
		Use:   "handover WORKTREE --to-pid N | --to-session N | --to-host NAME",
		Short: "Give the lease to another process, session or host, without a gap",
		Long: `Give the lease to another process or session of the same mount, or to another host
or mount that uses the same records. Nobody else can take it in between.

New writes wait until the writes in flight have ended and are durable. Then the next
holder gets the next token, and the open files of the former holder are refused. If
this takes longer than --wait, nothing changes: the writers continue under the old
lease. A write that has waited for 5 seconds is refused. Only the holder and root can
hand a lease over, and only to a process whose user may write there.

--to-host offers the lease until --wait is over. It goes to the first who acquires it
on purpose on that host, through another mount or without one: jvsfs lock acquire
--wait 1m, or jvsfs exec --wait 1m. Nobody else gets the lease meanwhile.

WORKTREE is a worktree, its mount point, or any path inside.`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return h.run(ctx, io, args[0]) }),
	}
	fs := cmd.Flags()
	fs.IntVar(&h.toPID, "to-pid", 0, "the process `N` that is to hold the lease, with its descendants")
	fs.IntVar(&h.toSession, "to-session", 0, "the POSIX session `N` (its leader's pid) that is to hold the lease")
	fs.StringVar(&h.toHost, "to-host", "", "the host `NAME`: who acquires the lease there next, through another mount")
	fs.StringVar(&h.scope, "scope", "", "with --to-pid: `WHO` counts as the holder (default: as configured, or tree)")
	fs.StringVar(&h.purpose, "purpose", "", "`WHAT` the lease is for, shown to others (default: as before)")
	fs.DurationVar(&h.wait, "wait", flags.DefaultPatience, "wait this `LONG` for writes in flight, for the disk and for the other host")
	fs.BoolVar(&h.asJSON, "json", false, "print JSON")
	return cmd
}

func (h *handoverCommand) run(ctx context.Context, io console.Streams, path string) error {
	req, err := h.request()
	if err != nil {
		return err
	}
	t, err := client.Find(ctx, path, "")
	if err == nil && t.Mount == nil {
		err = &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("%s is on no jvsfs mount: there is nobody who could drain it", t.Path),
			Next: "jvsfs lock release, then acquire; or mount it"}
	}
	if err != nil {
		return err
	}
	req.Path = t.Rel
	var pidfd *os.File
	if req.PID != 0 {
		if pidfd, err = process.OpenPidfd(req.PID); err != nil {
			return api.NoProcess(req.PID, err)
		}
		defer host.CloseFile(pidfd)
	}
	var resp api.Response
	show := console.NewWaits(io, h.waitsFor(t))
	err = show.During(ctx, func() error {
		resp, err = client.Ask(ctx, t.Mount, req, pidfd, show.Note)
		return err
	})
	if err != nil {
		return console.Interrupted(lookup.AboutWorktree(err, t.Path), lookup.LeaseNow(t))
	}
	return h.print(io, resp)
}

// WaitsFor is what a handover waits for: the other host, or writes in flight.
func (h *handoverCommand) waitsFor(t client.Target) func(context.Context) string {
	if h.toHost != "" {
		return console.WaitsFor(fmt.Sprintf("host %s to acquire the lease of %s", h.toHost, t.Path))
	}
	return lookup.InFlight(t.Mount, "writes that the holder has begun")
}

func (h *handoverCommand) request() (api.Handover, error) {
	req := api.Handover{Host: h.toHost, Taking: api.Taking{
		Process: api.Process{PID: h.toPID}, Scope: h.scope, Purpose: h.purpose, WaitMS: h.wait.Milliseconds(),
	}}
	if err := cmp.Or(usage.CheckPID("to-pid", h.toPID), usage.CheckPID("to-session", h.toSession), usage.CheckWait(h.wait, time.Millisecond)); err != nil {
		return req, err
	}
	switch {
	case h.targets() != 1:
		return req, &api.Failure{Class: api.ClassUsage, Message: "say to whom, by one of --to-pid, --to-session and --to-host",
			Next: "jvsfs lock handover WORKTREE --to-pid N"}
	case h.toPID == 0 && h.scope != "":
		return req, api.Usagef("--scope goes with --to-pid")
	case h.toHost != "" && h.purpose != "":
		return req, api.Usagef("the other host says its purpose itself")
	case h.toSession != 0:
		req.PID, req.Scope = h.toSession, string(gate.ScopeSession)
	}
	return req, nil
}

func (h *handoverCommand) targets() (n int) {
	for _, named := range []bool{h.toPID != 0, h.toSession != 0, h.toHost != ""} {
		if named {
			n++
		}
	}
	return n
}

func (h *handoverCommand) print(io console.Streams, resp api.Response) error {
	var r api.HandoverResult
	if err := json.Unmarshal(resp.Result, &r); err != nil {
		return err
	}
	if h.asJSON {
		return human.PrintJSON(io.Out, r)
	}
	rec := api.RecordOf(r.Record)
	if rec == nil || r.From == nil {
		return fmt.Errorf("the answer has no record that can be read")
	}
	_, err := fmt.Fprintf(io.Out, "handed over %s: token %d, holder %s; before: token %d, %s\n",
		rec.WorktreeID, rec.FencingToken, api.HolderText(api.ViewOfRecord(rec)), r.From.FencingToken, api.HolderText(r.From))
	return err
}
