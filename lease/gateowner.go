package lease

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// GateOwners are the pids of the processes that hold the gate or the turn of a worktree (rule 4). A process that this pid namespace
// does not show is 0. A pid may be another process's a moment later: see [Store.OwnsGate].
func (s *Store) GateOwners() ([]int, error) {
	var pids []int
	for _, name := range s.lockNames() {
		id, err := s.lookup(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, s.failed("the lock file cannot be looked at", name, err)
		}
		owners, err := lockPIDs(id)
		if err != nil {
			return nil, s.failed("the owner of the lock cannot be found", name, err)
		}
		pids = append(pids, owners...)
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// OwnsGate proves that a process holds the gate or the turn: one of its descriptors is that very file and has the flock. /proc/locks
// alone proves nothing: its devices are not always those of stat(2), and the process may have ended since.
func (s *Store) OwnsGate(pid int) (bool, error) {
	var files []fileID
	for _, name := range s.lockNames() {
		if id, err := s.lookup(name); err == nil {
			files = append(files, id)
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return false, err
	}
	for _, fd := range fds {
		var st unix.Stat_t
		if unix.Stat(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()), &st) == nil && slices.Contains(files, idOf(&st)) && flocked(pid, fd.Name()) {
			return true, nil
		}
	}
	return false, nil
}

// flocked is whether an open file of a process has a flock. Then its fdinfo has a line such as (proc_pid_fdinfo(5)):
//
//	lock:  1: FLOCK  ADVISORY  READ 4711 fe:00:5 0 EOF
func flocked(pid int, fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "lock:"); ok {
			if _, _, _, ok := parseLockLine(strings.TrimSpace(rest)); ok {
				return true
			}
		}
	}
	return false
}
