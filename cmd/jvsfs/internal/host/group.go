package host

import (
	"slices"

	"github.com/jvsfs/jvsfs/gate/process"
)

// Group are the running processes of a process group, as one look at /proc shows them.
func Group(pgrp int) (pids []int) {
	for pid, s := range process.Stats() {
		if s.Group == pgrp && (s.State != 'Z' || s.Threads > 1) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
