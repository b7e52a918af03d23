package lease

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockOwners are the processes that hold a flock, as far as /proc tells.
type lockOwners struct {
	text    string
	stopped bool
	unseen  bool // /proc shows nobody
}

func (o lockOwners) String() string { return o.text }

// lockHolders says who holds the flock of a file.
func lockHolders(f fileID) lockOwners {
	pids, err := lockPIDs(f)
	if err != nil {
		return lockOwners{text: "an unknown process"}
	}
	return describePIDs(pids)
}

// lockPIDs reads /proc/locks (proc_locks(5)). The device there is the superblock's. On some file systems stat(2) shows another one. So
// if no line has both the device and the inode, the lines with the inode count.
func lockPIDs(f fileID) ([]int, error) {
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, err
	}
	var exact, loose []int
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		pid, dev, ino, ok := parseLockLine(sc.Text())
		if !ok || ino != f.ino {
			continue
		}
		loose = append(loose, pid)
		if dev == fmt.Sprintf("%02x:%02x", unix.Major(f.dev), unix.Minor(f.dev)) {
			exact = append(exact, pid)
		}
	}
	if len(exact) == 0 {
		exact = loose
	}
	return exact, nil
}

// parseLockLine takes "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; waiters ("1: -> FLOCK ...") are not holders.
func parseLockLine(line string) (pid int, dev string, ino uint64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" {
		return 0, "", 0, false
	}
	i := strings.LastIndexByte(f[5], ':')
	if i < 0 {
		return 0, "", 0, false
	}
	pid, err1 := strconv.Atoi(f[4])
	ino, err2 := strconv.ParseUint(f[5][i+1:], 10, 64)
	return pid, f[5][:i], ino, err1 == nil && err2 == nil
}

func describePIDs(pids []int) lockOwners {
	if len(pids) == 0 {
		return lockOwners{text: "a process that has just let it go", unseen: true}
	}
	var o lockOwners
	var parts []string
	for _, pid := range pids {
		if pid <= 0 {
			parts = append(parts, "a process outside this pid namespace")
			continue
		}
		state := "running"
		if stoppedPID(pid) {
			state, o.stopped = "stopped", true
		}
		parts = append(parts, fmt.Sprintf("pid %d (%s)", pid, state))
	}
	o.text = strings.Join(parts, ", ")
	return o
}

// stoppedPID reads field 3 of /proc/PID/stat. The command before it may hold any character, so the field is after the last parenthesis.
func stoppedPID(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := strings.TrimSpace(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return rest != "" && (rest[0] == 'T' || rest[0] == 't')
}
