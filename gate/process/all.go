package process

import (
	"os"
	"strconv"
)

// All lists the pids of all processes.
func All() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1) // names that were read before an error are valid
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Stats is one look at all processes, by their pids.
func Stats() map[int]Stat {
	all := make(map[int]Stat)
	for _, pid := range All() {
		if st, err := ReadStat(pid); err == nil {
			all[pid] = st
		}
	}
	return all
}
