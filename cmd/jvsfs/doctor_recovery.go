package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/lease"
)

// checkRecoveries finds recoveries that were interrupted, and what ended daemons have left
// behind that is of no use any more.
func checkRecoveries(ctx context.Context, mounts mountTable, fix repair) []finding {
	var out []finding
	seen := map[string]bool{}
	for _, m := range mounts.jvsfs() {
		if seen[m.Mountpoint] {
			continue
		}
		seen[m.Mountpoint] = true
		out = append(out, checkStack(ctx, mounts, m.Mountpoint)...)
	}
	return append(out, checkStates(mounts, fix)...)
}

// checkStack looks at jvsfs mounts one on the other.
func checkStack(ctx context.Context, mounts mountTable, point string) []finding {
	stack := mounts.stackAt(point)
	if len(stack) < 2 {
		return nil
	}
	st, err := livenessOf(ctx, stack[0])
	if err == nil && st == mountServes {
		return []finding{warn("recovery", "", "%s: a dead mount lies below the serving one; it stays until both are unmounted (jvsfs umount, then umount --bare)", point)}
	}
	return []finding{fail("recovery", "jvsfs recover "+point, "%s: a recovery was interrupted, %d mounts lie one on the other", point, len(stack))}
}

// checkStates looks for state of daemons that have ended and whose mounts are gone. Safe to
// remove is what a boot before this one has left, and what names an ended process of this one.
func checkStates(mounts mountTable, fix repair) []finding {
	mounted := map[device]bool{}
	for _, m := range mounts.jvsfs() {
		mounted[deviceOf(m)] = true
	}
	paths, err := filepath.Glob(filepath.Join(socketDir, "dev-*-*.state"))
	if err != nil || os.Geteuid() != 0 { // they are root's to read
		return nil
	}
	var out []finding
	for _, path := range paths {
		var d device
		if _, err := fmt.Sscanf(filepath.Base(path), "dev-%d-%d.state", &d.Major, &d.Minor); err != nil || mounted[d] {
			continue
		}
		st, err := readMountState(d)
		if err == nil && st.Daemon.liveness() != lease.Gone {
			continue // of another mount namespace
		}
		f := warn("recovery", "jvsfs doctor --repair", "%s is of a mount that is gone", path)
		if fix.safe && forgetMount(d) == nil {
			f = okf("recovery", "%s was of a mount that is gone: removed", path)
		}
		out = append(out, f)
	}
	return out
}
