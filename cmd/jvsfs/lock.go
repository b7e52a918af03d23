package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/spf13/cobra"
)

// lockFlags are the flags of the lock commands; not every command has them all.
type lockFlags struct {
	records
	pid     int
	wait    time.Duration
	asJSON  bool
	scope   string
	purpose string
	fence   bool
	yes     bool
}

// pidUsage says what --pid means to each operation.
var pidUsage = map[string]string{
	opAcquire:    "the process `N` that is to hold the lease (default: the parent of this command)",
	opSteal:      "the process `N` that is to hold the lease (default: the parent of this command)",
	opRenew:      "the process `N` that holds the lease, or belongs to its holder",
	opRelease:    "the process `N` that holds the lease, or belongs to its holder",
	opLockStatus: "say whether process `N` belongs to the holder",
}

func newLockCommand(io stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Acquire, renew, release, hand over, steal and look at leases",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newLockOp(io, opAcquire, "acquire WORKTREE", "Take the lease for a process (default: the parent of this command, the shell)"),
		newLockOp(io, opRenew, "renew WORKTREE", "Renew the lease now"),
		newLockOp(io, opRelease, "release WORKTREE", "Give the lease back"),
		newLockOp(io, opSteal, "steal WORKTREE", "Take over a lease that has expired, skew and grace passed"),
		newLockOp(io, opLockStatus, "status WORKTREE", "Show the lease and its record"),
		newHandoverCommand(io),
	)
	return cmd
}

func newLockOp(io stdio, op, use, short string) *cobra.Command {
	f := &lockFlags{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usageArgs(cobra.ExactArgs(1)),
		Long: short + ".\n\nWORKTREE is a worktree, its mount point, or any path inside.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runLock(ctx, io, op, args[0], f)
		},
	}
	fs := cmd.Flags()
	f.addFlags(fs)
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.IntVar(&f.pid, "pid", 0, pidUsage[op])
	if op == opAcquire || op == opSteal {
		fs.StringVar(&f.scope, "scope", "", "`WHO` counts as the holder: tree, session, user, cgroup or mount")
		fs.StringVar(&f.purpose, "purpose", "", "`WHAT` the lease is for, shown to others")
	}
	if op == opSteal {
		fs.BoolVar(&f.yes, "yes", false, "do not ask whether the holder shown may be robbed")
		fs.BoolVar(&f.fence, "fence", false, "when a daemon on this host keeps the gate, stopped or stuck in a write, end it (root, or its own user)")
	}
	if op == opAcquire {
		fs.DurationVar(&f.wait, "wait", 0, "wait this `LONG` for the lease to become free")
	}
	return cmd
}

// runLock does one operation through the daemon, or on the records.
func runLock(ctx context.Context, io stdio, op, path string, f *lockFlags) error {
	if f.pid < 0 || f.wait < 0 {
		return usagef("--pid and --wait must not be negative")
	}
	control, policy, err := f.load()
	if err != nil {
		return err
	}
	t, err := findTarget(ctx, path, control)
	if err != nil {
		return err
	}
	req, pidfd, err := f.request(op, t)
	if err != nil {
		return err
	}
	defer closeFile(pidfd)
	if op == opSteal {
		if req.Token, err = f.consent(ctx, io, t, policy); err != nil {
			return err
		}
	}
	var resp response
	if t.mount != nil {
		resp, err = ask(ctx, t.mount, req, pidfd, noteTo(io))
	} else {
		resp, err = onRecords(ctx, noteTo(io), t.place, policy, req)
	}
	if err != nil {
		return err
	}
	return printLock(io, t, op, resp, f.asJSON)
}

// request builds the request of a lock command and pins the process it names.
func (f *lockFlags) request(op string, t target) (request, *os.File, error) {
	req := request{
		Op: op, Path: t.rel, PID: f.pid, Explicit: f.pid != 0,
		Scope: f.scope, Purpose: f.purpose, WaitMS: f.wait.Milliseconds(), Force: f.fence,
	}
	if req.PID == 0 && (op == opAcquire || op == opSteal) {
		pid, err := callerProcess()
		if err != nil {
			return req, nil, err
		}
		req.PID = pid
	}
	if req.PID == 0 {
		return req, nil, nil
	}
	pidfd, err := openPidfd(req.PID)
	if err != nil && (op == opAcquire || op == opSteal) {
		return req, nil, noProcess(req.PID, err)
	}
	return req, pidfd, nil // a holder that has ended is still named by its number
}

func printLock(io stdio, t target, op string, resp response, asJSON bool) error {
	if asJSON {
		return printLockJSON(io, op, resp)
	}
	switch op {
	case opRelease:
		_, err := fmt.Fprintf(io.out, "released %s\n", t.path)
		return err
	case opLockStatus:
		return printLockStatus(io, resp)
	}
	rec := recordOf(resp.Record)
	if rec == nil {
		return fmt.Errorf("the answer has no record that can be read")
	}
	verb := map[string]string{opAcquire: "acquired", opRenew: "renewed", opSteal: "stole"}[op]
	_, err := fmt.Fprintf(io.out, "%s %s: token %d, holder %s\n", verb, rec.WorktreeID, rec.FencingToken, holderText(viewOfRecord(rec)))
	return err
}

// releasedLease is what `lock release --json` prints; the names are a promise.
type releasedLease struct {
	Released bool        `json:"released"`
	Token    lease.Token `json:"fencing_token"`
}

func printLockJSON(io stdio, op string, resp response) error {
	switch op {
	case opRelease:
		return printJSON(io.out, releasedLease{true, resp.Token})
	case opLockStatus:
		return printJSON(io.out, resp.Result)
	}
	return printJSON(io.out, resp.Record)
}

// offerText says to which host a lease is being handed over, "" if to none.
func offerText(rec *lease.Record) string {
	if rec.OfferedTo == "" {
		return ""
	}
	return fmt.Sprintf("to host %s until %s", printable(rec.OfferedTo), clockText(rec.OfferUntil))
}

func printLockStatus(io stdio, resp response) error {
	var st lockStatus
	if err := json.Unmarshal(resp.Result, &st); err != nil {
		return err
	}
	rows := [][]string{
		{"worktree", string(st.Worktree)}, {"state", st.State}, {"reason", printable(st.Reason)},
		{"token", fmt.Sprint(st.Token)}, {"file", st.File},
	}
	if rec := recordOf(st.Record); rec != nil && rec.Released {
		rows = append(rows, []string{"last", holderText(viewOfRecord(rec))})
	} else if rec != nil {
		rows = append(rows, [][]string{
			{"holder", holderText(viewOfRecord(rec))},
			{"since", rec.CreatedAt.Local().Format(time.DateTime)}, {"renewed", clockText(rec.LastRenewedAt)},
			{"expires", clockText(rec.ExpiresAt())}, {"stealable", clockText(rec.StealableAt())}, {"offered", offerText(rec)},
		}...)
	}
	if st.Member != nil {
		rows = append(rows, []string{"member", fmt.Sprint(*st.Member)})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(io.out, "%-10s %s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}
