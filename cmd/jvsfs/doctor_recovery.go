package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/lease"
)

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
		f := warn("run.state", "jvsfs doctor --repair", "%s describes a mount that is gone", path)
		if fix.safe && forgetMount(d) == nil {
			f = okf("repair.done", "%s: removed: its daemon has ended, and its mount is gone", path)
		}
		out = append(out, f)
	}
	return out
}
