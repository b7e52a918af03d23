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
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// lockFlags are the flags of the lock commands; not every command has them all.
type lockFlags struct {
	flags.Records
	pid     int
	wait    time.Duration
	asJSON  bool
	scope   string
	purpose string
	fence   bool
	yes     bool

	robsNobody bool // steal: the lease was free when it was asked for
}

// The operations of the lock commands.
var (
	opAcquire, opSteal = api.Acquire{}.Op(), api.Steal{}.Op()
	opRenew, opRelease = api.Renew{}.Op(), api.Release{}.Op()
	opLockStatus       = api.LookAtLock{}.Op()
)

// pidUsage says what --pid means to each operation.
var pidUsage = map[string]string{
	opAcquire:    "the process `N` that is to hold the lease (default: the shell that runs this command; a parent that is none must be named)",
	opSteal:      "the process `N` that is to hold the lease (default: the shell that runs this command; a parent that is none must be named)",
	opRenew:      "the process `N` that holds the lease, or belongs to its holder",
	opRelease:    "the process `N` that holds the lease, or belongs to its holder",
	opLockStatus: "say whether process `N` belongs to the holder",
}

// New is jvsfs lock, with its subcommands.
func New(io console.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Acquire, renew, release, hand over, steal and show leases",
		Args:  usage.Args(cobra.NoArgs),
		RunE:  usage.ShowHelp,
	}
	cmd.AddCommand(
		newOp(io, opAcquire, "acquire WORKTREE", "Take the lease for a process (default: the shell that runs this command)"),
		newOp(io, opRenew, "renew WORKTREE", "Renew the lease now"),
		newOp(io, opRelease, "release WORKTREE", "Give the lease back"),
		newOp(io, opSteal, "steal WORKTREE", "Take over a lease that has expired, when skew and grace have passed"),
		newOp(io, opLockStatus, "status WORKTREE", "Show the lease and its record"),
		newHandover(io),
	)
	return cmd
}

func newOp(io console.Streams, op, use, short string) *cobra.Command {
	f := &lockFlags{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usage.Args(cobra.ExactArgs(1)),
		Long: short + ".\n\nWORKTREE is a worktree, its mount point, or any path inside.",
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return runLock(ctx, io, op, args[0], f) }),
	}
	fs := cmd.Flags()
	f.AddFlags(fs)
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.IntVar(&f.pid, "pid", 0, pidUsage[op])
	if op == opAcquire || op == opSteal {
		fs.StringVar(&f.scope, "scope", "", "`WHO` counts as the holder: tree, session, user, cgroup or mount")
		fs.StringVar(&f.purpose, "purpose", "", "`WHAT` the lease is for, shown to others")
	}
	if op == opSteal {
		fs.BoolVar(&f.yes, "yes", false, "do not ask; rob the holder that is shown")
		fs.BoolVar(&f.fence, "fence", false, "end a daemon on this host that keeps the gate because it is stopped or stuck in a write (as root, or as its user)")
	}
	if op == opAcquire {
		fs.DurationVar(&f.wait, "wait", 0, "wait this `LONG` for the lease to become free")
	}
	return cmd
}

// runLock does one operation through the daemon, or on the records.
func runLock(ctx context.Context, io console.Streams, op, path string, f *lockFlags) error {
	if err := cmp.Or(usage.CheckPID("pid", f.pid), usage.CheckWait(f.wait, 0)); err != nil {
		return err
	}
	control, terms, err := f.Load()
	if err != nil {
		return err
	}
	t, err := client.Find(ctx, path, control)
	if err != nil {
		return err
	}
	who, pidfd, err := f.process(op)
	if err != nil {
		return err
	}
	defer host.CloseFile(pidfd)
	var agreed lease.Token
	if op == opSteal {
		if agreed, err = f.consent(ctx, io, t, terms.Policy); err != nil {
			return err
		}
	}
	req := f.request(op, api.Where{Path: t.Rel}, who, agreed)
	var resp api.Response
	show := console.NewWaits(io, lookup.LeaseHeld(t))
	err = show.During(ctx, func() error {
		if t.Mount != nil {
			resp, err = client.Ask(ctx, t.Mount, req, pidfd, show.Note)
		} else {
			resp, err = lockop.OnRecords(ctx, show.Note, t.Place, terms, req)
		}
		return err
	})
	if err != nil {
		return console.Interrupted(lookup.AboutWorktree(err, t.Path), lookup.LeaseNow(t))
	}
	if f.robsNobody {
		op = opAcquire
	}
	return printLock(io, t, op, resp, f.asJSON)
}

// process is the process that a lock command is about, pinned if it lives.
func (f *lockFlags) process(op string) (api.Process, *os.File, error) {
	who := api.Process{PID: f.pid, Explicit: f.pid != 0}
	takes := op == opAcquire || op == opSteal
	switch {
	case takes && who.PID == os.Getpid():
		return who, nil, host.OwnEnd()
	case takes && who.PID == 0:
		pid, err := host.ShellProcess()
		if err != nil {
			return who, nil, err
		}
		who.PID = pid
	}
	if who.PID == 0 {
		return who, nil, nil
	}
	pidfd, err := process.OpenPidfd(who.PID)
	if err != nil && takes {
		return who, nil, api.NoProcess(who.PID, err)
	}
	return who, pidfd, nil // a holder that has ended is still named by its number
}

// request is what a lock command asks. agreed is the token of the lease that may be robbed.
func (f *lockFlags) request(op string, where api.Where, who api.Process, agreed lease.Token) api.Body {
	taking := api.Taking{Where: where, Process: who, Scope: f.scope, Purpose: f.purpose, WaitMS: f.wait.Milliseconds()}
	holding := api.Holding{Where: where, Process: who}
	switch op {
	case opAcquire:
		return api.Acquire{Taking: taking}
	case opSteal:
		return api.Steal{Taking: taking, Force: f.fence, Token: agreed}
	case opRenew:
		return api.Renew{Holding: holding}
	case opRelease:
		return api.Release{Holding: holding}
	}
	return api.LookAtLock{Where: where, Process: who}
}

func printLock(io console.Streams, t client.Target, op string, resp api.Response, asJSON bool) error {
	if asJSON {
		return printLockJSON(io, op, resp)
	}
	switch op {
	case opRelease:
		return printReleased(io, t, resp)
	case opLockStatus:
		return printLockStatus(io, resp)
	}
	rec := api.RecordOf(resp.Record)
	if rec == nil {
		return fmt.Errorf("the answer has no record that can be read")
	}
	verb := map[string]string{opAcquire: "acquired", opRenew: "renewed", opSteal: "stole"}[op]
	_, err := fmt.Fprintf(io.Out, "%s %s: token %d, holder %s\n", verb, rec.WorktreeID, rec.FencingToken, api.HolderText(api.ViewOfRecord(rec)))
	return err
}

// keptFor is the process for which exec keeps a lease that was not released, if it was not.
func keptFor(resp api.Response) (pid int, kept bool) {
	var k api.Kept
	kept = json.Unmarshal(resp.Result, &k) == nil && k.Holder != 0
	return k.Holder, kept
}

func printReleased(io console.Streams, t client.Target, resp api.Response) error {
	text := fmt.Sprintf("released %s", t.Path)
	if pid, kept := keptFor(resp); kept {
		text = fmt.Sprintf("kept %s: jvsfs exec holds the lease until its command ends (to end it now: --pid %d)", t.Path, pid)
	}
	_, err := fmt.Fprintln(io.Out, text)
	return err
}

// releasedLease is what `lock release --json` prints; the names are a promise.
type releasedLease struct {
	Released bool        `json:"released"`
	Token    lease.Token `json:"fencing_token"`
}

func printLockJSON(io console.Streams, op string, resp api.Response) error {
	switch op {
	case opRelease:
		_, kept := keptFor(resp)
		return human.PrintJSON(io.Out, releasedLease{!kept, resp.Token})
	case opLockStatus:
		return human.PrintJSON(io.Out, resp.Result)
	}
	return human.PrintJSON(io.Out, resp.Record)
}

// offerText says to which host a lease is being handed over, "" if to none.
func offerText(rec *record.Record) string {
	if rec.OfferedTo == "" {
		return ""
	}
	return fmt.Sprintf("to host %s until %s", human.Printable(rec.OfferedTo), human.Clock(rec.OfferUntil))
}

func printLockStatus(io console.Streams, resp api.Response) error {
	var st api.LockStatus
	if err := json.Unmarshal(resp.Result, &st); err != nil {
		return err
	}
	rows := [][]string{
		{"worktree", string(st.Worktree)}, {"state", st.State}, {"reason", human.Printable(st.Reason)},
		{"token", fmt.Sprint(st.Token)}, {"file", st.File},
	}
	if rec := api.RecordOf(st.Record); rec != nil && rec.Released {
		rows = append(rows, []string{"last", api.HolderText(api.ViewOfRecord(rec))})
	} else if rec != nil {
		rows = append(rows, [][]string{
			{"holder", api.HolderText(api.ViewOfRecord(rec))},
			{"since", rec.CreatedAt.Local().Format(time.DateTime)}, {"renewed", human.Clock(rec.LastRenewedAt)},
			{"expires", human.Clock(rec.ExpiresAt())}, {"stealable", human.Clock(rec.StealableAt())}, {"offered", offerText(rec)},
		}...)
	}
	if st.Member != nil {
		rows = append(rows, []string{"member", fmt.Sprint(*st.Member)})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(io.Out, "%-10s %s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}
