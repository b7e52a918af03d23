package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/lease"
)

// servedOtherwise names who serves p, or what lies above or below it, with other records:
// the lock at byte at, by the mark of its records.
func servedOtherwise(p place, kin kinship, at, mark int64) *failure {
	for _, st := range livingStates() {
		if st.Mark == mark {
			return servedByMount(p, kin, st)
		}
	}
	f := &failure{Class: classUsage, err: errServedOtherwise}
	if pid, ok := lockerOf(at); ok {
		f.Message = fmt.Sprintf("%s %s served with other records already, by process %d (%s): with two sets of records there would be two holders at once", p.Root, kin, pid, shorten(commandLine(pid), 60))
		f.Next = fmt.Sprintf("wait for that process or end it (kill %d), or use its records; jvsfs status lists the mounts", pid)
		return f
	}
	f.Message = fmt.Sprintf("%s %s served with other records already, by somebody who cannot be seen from here: with two sets of records there would be two holders at once", p.Root, kin)
	f.Next = "look for a jvsfs mount in containers and on the host (jvsfs status, lslocks); end that, or use its records"
	return f
}

// errServedOtherwise is the cause of refusing a second set of records.
var errServedOtherwise = fmt.Errorf("served with other records")

func servedByMount(p place, kin kinship, st *mountState) *failure {
	f := &failure{Class: classUsage, err: errServedOtherwise,
		Message: fmt.Sprintf("%s %s served with other records already: the mount at %s (of %s) has them in %s, not in %s; with two sets of records there would be two holders at once",
			p.Root, kin, st.Mountpoint, st.Source, st.Locks, p.LockDir),
		Next: fmt.Sprintf("jvsfs umount %s", st.Mountpoint),
	}
	if kin == kinSame {
		f.Next = fmt.Sprintf("use the same records and source (%s, --control %s), or jvsfs umount %s first", st.Source, st.Locks, st.Mountpoint)
	}
	return f
}

// servedUnlocked looks for daemons whose locks cannot be seen: of releases that took none, and
// all where the file system has none or not all directories above were reached. They are
// known by their paths alone.
func servedUnlocked(p place, l *treeLock) error {
	for _, st := range livingStates() {
		kin, related := kinOf(p.Root, st.Source)
		if st.Mark == l.mark || st.Mark != 0 && l.known || !related {
			continue
		}
		if st.Mark == 0 && st.Locks == p.LockDir && (kin == kinSame || p.Shape != shapeDirectory) {
			continue
		}
		return servedByMount(p, kin, st)
	}
	return nil
}

// kinOf tells how the paths of two sources lie to each other.
func kinOf(path, other string) (kinship, bool) {
	switch {
	case path == other:
		return kinSame, true
	case within(other, path):
		return kinAbove, true
	case within(path, other):
		return kinBelow, true
	}
	return "", false
}

// livingStates are the mounts whose daemons have not ended, as far as this user may know.
func livingStates() []*mountState {
	paths, _ := filepath.Glob(filepath.Join(socketDir, "dev-*-*.state")) // the pattern is well-formed
	var out []*mountState
	for _, path := range paths {
		st := new(mountState)
		if readState(path, st) == nil && st.Version == stateVersion && st.Daemon.liveness() != lease.Gone {
			out = append(out, st)
		}
	}
	return out
}

// lockerOf finds the process that holds the lock on a byte that we alone use: the kernel
// tells no pid for such locks but beside the descriptor (proc_pid_fdinfo(5)).
func lockerOf(at int64) (pid int, ok bool) {
	names, _ := filepath.Glob("/proc/[0-9]*/fdinfo/[0-9]*") // the pattern is well-formed
	for _, name := range names {
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if pid != os.Getpid() && locksByte(name, at) {
			return pid, true
		}
	}
	return 0, false
}

func locksByte(fdinfo string, at int64) bool {
	f, err := os.Open(fdinfo)
	if err != nil {
		return false // gone, or not ours to look at
	}
	defer closeFile(f)
	start := strconv.FormatInt(at, 10)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// lock: 1: OFDLCK ADVISORY READ -1 MAJOR:MINOR:INODE START END
		w := strings.Fields(lines.Text())
		if len(w) == 9 && w[0] == "lock:" && w[2] == "OFDLCK" && w[7] == start {
			return true
		}
	}
	return false
}
