package host

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// Descendants are the running processes below a process, as one look at /proc shows them.
func Descendants(of int) (pids []int) {
	children := map[int][]int{}
	for pid, s := range process.Stats() {
		if s.State != 'Z' || s.Threads > 1 {
			children[s.PPID] = append(children[s.PPID], pid)
		}
	}
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		pids = append(pids, pid)
		delete(children, pid) // a loop in what /proc says must not hang us
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// SignalDescendants signals the processes below this one.
func SignalDescendants(s unix.Signal) { SignalOthers(0, s) }

// SignalOthers signals the processes below this one that are not in a process group. Each is
// pinned before it is looked at again, so that nobody else gets the signal who has got the
// number.
func SignalOthers(group int, s unix.Signal) {
	self := os.Getpid()
	for _, pid := range Descendants(self) {
		f, err := process.OpenPidfd(pid)
		if err != nil {
			continue // it has ended
		}
		if st, err := process.ReadStat(pid); err == nil && st.Group != group && isBelow(pid, self) {
			_ = unix.PidfdSendSignal(int(f.Fd()), s, nil, 0) // it may have ended, or be another user's
		}
		CloseFile(f)
	}
}

// isBelow walks up from a process.
func isBelow(pid, top int) bool {
	for pid > 1 {
		s, err := process.ReadStat(pid)
		if err != nil {
			return false
		}
		if pid = s.PPID; pid == top {
			return true
		}
	}
	return false
}

// DescendsFrom tells whether this process is below another one.
func DescendsFrom(pid int, start uint64) bool {
	s, err := process.ReadStat(pid)
	return err == nil && s.Start == start && isBelow(os.Getpid(), pid)
}
