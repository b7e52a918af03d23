package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"
)

// The severities of a finding.
const (
	sevOK   = "ok"
	sevWarn = "warn"
	sevFail = "fail"
)

// finding is the result of one check; the JSON names are a promise.
type finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

func okf(check, format string, args ...any) finding {
	return finding{Check: check, Severity: sevOK, Message: fmt.Sprintf(format, args...)}
}

func warn(check, fix, format string, args ...any) finding {
	return finding{Check: check, Severity: sevWarn, Message: fmt.Sprintf(format, args...), Fix: fix}
}

func fail(check, fix, format string, args ...any) finding {
	return finding{Check: check, Severity: sevFail, Message: fmt.Sprintf(format, args...), Fix: fix}
}

type doctorCommand struct {
	records
	strict bool
	repair repair
	asJSON bool
}

// repair is what doctor may change.
type repair struct{ safe, force bool }

func newDoctorCommand(io stdio) *cobra.Command {
	d := &doctorCommand{}
	cmd := &cobra.Command{
		Use: "doctor [PATH...]", Short: "Check leases, records, mounts, clock and kernel",
		Long: `Check the kernel, the clock, the mounts, and the records of the worktrees or
repositories PATH and of all that are mounted. Exit code 1 when something fails;
with --strict also on a warning.

--repair mends what is provably safe and keeps every old file beside the new; what
is not needs --force as well, and you to make sure that nobody writes.`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), io, args) },
	}
	d.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&d.strict, "strict", false, "a warning fails too")
	cmd.Flags().BoolVar(&d.repair.safe, "repair", false, "mend what is provably safe")
	cmd.Flags().BoolVar(&d.repair.force, "force", false, "with --repair: mend also what only you can know to be safe")
	cmd.Flags().BoolVar(&d.asJSON, "json", false, "print JSON")
	return cmd
}

func (d *doctorCommand) run(ctx context.Context, io stdio, paths []string) error {
	control, policy, err := d.load()
	if err != nil {
		return err
	}
	if d.repair.force && !d.repair.safe {
		return usagef("--force goes with --repair")
	}
	all := append(checkKernel(), checkClock(policy.MaxClockSkew)...)
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	all = append(all, checkMounts(ctx, mounts, d.repair)...)
	all = append(all, checkRecoveries(ctx, mounts, d.repair)...)
	var locks []lockDir
	for _, path := range paths {
		dirs, err := lockDirsOf(path, control, mounts)
		if err != nil {
			return err
		}
		locks = append(locks, dirs...)
	}
	all = append(all, checkLockDirs(ctx, locks, policy, d.repair)...)
	if d.asJSON {
		err = printJSON(io.out, map[string]any{"ok": !failed(all, d.strict), "findings": all})
	} else {
		_, err = fmt.Fprint(io.out, findingsText(all))
	}
	if err == nil && failed(all, d.strict) {
		return exitWith(exitError)
	}
	return err
}

func failed(all []finding, strict bool) bool {
	for _, f := range all {
		if f.Severity == sevFail || strict && f.Severity == sevWarn {
			return true
		}
	}
	return false
}

func findingsText(all []finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-4s  %-10s %s\n", f.Severity, f.Check, printable(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(&b, "      fix: %s\n", f.Fix)
		}
	}
	return b.String()
}

// lockDirsOf finds the lock directory of a path that is not mounted; those of
// mounted ones are found by checkMounts.
func lockDirsOf(path, control string, mounts mountTable) ([]lockDir, error) {
	abs, m, err := resolve(path, mounts)
	if err != nil || isJVSFS(m) {
		return nil, err
	}
	p, err := sourceAt(abs, control)
	if err != nil {
		if p, err = worktreeOf(abs, control); err != nil {
			return nil, err
		}
	}
	return []lockDir{{path: p.LockDir, name: p.LockDir}}, nil
}

// checkMounts looks at every mount, at its lock directory, and at who sits below
// an in-place one.
func checkMounts(ctx context.Context, mounts mountTable, fix repair) []finding {
	ours := mounts.jvsfs()
	if len(ours) == 0 {
		return []finding{okf("mounts", "no jvsfs mounts")}
	}
	var out []finding
	for i, st := range statusOfAll(ctx, ours) {
		out = append(out, checkMount(st))
		out = append(out, checkBelow(ours[i].Mountpoint, ours[i].Source, ours[i].Parent)...)
		if st.State == "serving" {
			out = append(out, askDoctor(ctx, ours[i], fix)...)
		}
	}
	return out
}

// askDoctor lets the daemon check its lock directory.
func askDoctor(ctx context.Context, m *mountinfo.Info, fix repair) []finding {
	resp, err := ask(ctx, m, request{Op: opDoctor, Repair: fix.safe, Force: fix.force}, nil, nil)
	var out []finding
	if err == nil {
		err = json.Unmarshal(resp.Result, &out)
	}
	if err != nil {
		return []finding{warn("locks", "run doctor as root", "the lock directory of %s was not checked: %v", m.Mountpoint, err)}
	}
	return out
}

func checkMount(st mountStatus) finding {
	switch st.State {
	case "serving":
		return okf("mounts", "%s serves %s, pid %d", st.Mountpoint, st.Source, st.PID)
	case "dead":
		return fail("mounts", "jvsfs recover "+st.Mountpoint,
			"%s is dead: its daemon does not answer, everything there fails", st.Mountpoint)
	case "forbidden":
		return warn("mounts", "run doctor as root", "%s cannot be asked: %s", st.Mountpoint, st.Detail)
	}
	return fail("mounts", "resume the daemon (kill -CONT) or end it", "%s does not answer: %s", st.Mountpoint, st.Detail)
}

// checkBelow names processes that bypass an in-place mount.
func checkBelow(point, source string, carrier int) []finding {
	if point != source {
		return nil
	}
	var out []finding
	for _, e := range whoIsBelow(point, uint64(carrier), os.Getpid()) {
		out = append(out, warn("bypass", "let it leave the directory or close its files, then come back through the path",
			"process %d (%s) is at %s from before the mount (%s): its writes are not fenced", e.PID, shorten(e.Command, 60), e.Path, e.Use))
	}
	return out
}
