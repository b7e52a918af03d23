package process

import "slices"

// ancestorsMax bounds a walk upwards. Deeper trees do not occur, and a loop in /proc must not hang
// the daemon.
const ancestorsMax = 512

// DescendsFrom reports whether a process is one of the roots or below one of them. It walks from the
// process to its ancestors. It believes a parent only if the child still has this parent afterwards:
// then the parent was alive. Orphans are below their subreaper.
func (id Identity) DescendsFrom(roots ...ID) bool {
	at, began, parent := id.PID, id.Start, id.PPID
	for range ancestorsMax {
		if slices.Contains(roots, ID{at, began}) {
			return true
		}
		if parent <= 0 {
			return false
		}
		st, err := ReadStat(parent)
		if err != nil {
			return false
		}
		if child, err := ReadStat(at); err != nil || child.Start != began || child.PPID != parent {
			return false
		}
		at, began, parent = parent, st.Start, st.PPID
	}
	return false
}

// Ancestors are at most so many: a process, of which stat was read, its parent and so on.
func Ancestors(of ID, stat Stat, most int) []ID {
	list := []ID{of}
	for parent := stat.PPID; parent > 0 && len(list) < most; parent = stat.PPID {
		var err error
		if stat, err = ReadStat(parent); err != nil {
			break
		}
		list = append(list, ID{parent, stat.Start})
	}
	return list
}

// DescendsIn is DescendsFrom in one look at all processes.
func DescendsIn(stats map[int]Stat, pid int, tops ...ID) bool {
	for range ancestorsMax {
		st, known := stats[pid]
		if !known || slices.Contains(tops, ID{pid, st.Start}) {
			return known
		}
		pid = st.PPID
	}
	return false
}
