package place

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// servedOtherwise names the daemon that serves p, or a directory above or below it, with other records. It
// holds the lock at byte at, which has the mark of its records.
func servedOtherwise(p Place, kin kinship, at, mark int64) *api.Failure {
	for _, st := range LivingStates() {
		if st.Mark == mark {
			return servedByMount(p, kin, st)
		}
	}
	f := &api.Failure{Class: api.ClassUsage, Err: errServedOtherwise}
	if pid, ok := lockerOf(at); ok {
		f.Message = fmt.Sprintf("%s %s served with other records already, by process %d (%s): with two sets of records there would be two holders at once", p.Root, kin, pid, human.Shorten(host.CommandLine(pid), 60))
		f.Next = fmt.Sprintf("wait for that process or end it (kill %d), or use its records; jvsfs status lists the mounts", pid)
		return f
	}
	f.Message = fmt.Sprintf("%s %s served with other records already, by somebody who cannot be seen from here: with two sets of records there would be two holders at once", p.Root, kin)
	f.Next = "look for a jvsfs mount in containers and on the host (jvsfs status, lslocks); end that, or use its records"
	return f
}

// errServedOtherwise is the cause of refusing a second set of records.
var errServedOtherwise = fmt.Errorf("served with other records")

func servedByMount(p Place, kin kinship, st *host.MountState) *api.Failure {
	if kin == KinSame && st.Locks == p.LockDir && st.Parts != p.PartsText() {
		return &api.Failure{Class: api.ClassUsage, Err: errServedOtherwise,
			Message: fmt.Sprintf("%s is served with other rules of taken_by: lease already, by the mount at %s: a file would have two leases", p.Root, st.Mountpoint),
			Next:    fmt.Sprintf("give both the same rules, or jvsfs umount %s first", st.Mountpoint)}
	}
	f := &api.Failure{Class: api.ClassUsage, Err: errServedOtherwise,
		Message: fmt.Sprintf("%s %s served with other records already: the mount at %s (of %s) has them in %s, not in %s; with two sets of records there would be two holders at once",
			p.Root, kin, st.Mountpoint, st.Source, st.Locks, p.LockDir),
		Next: fmt.Sprintf("jvsfs umount %s", st.Mountpoint),
	}
	if kin == KinSame {
		f.Next = fmt.Sprintf("use the same records and source (%s, --control %s), or jvsfs umount %s first", st.Source, st.Locks, st.Mountpoint)
	}
	return f
}

// servedUnlocked looks for daemons whose locks cannot be seen: of early releases, which took none, and of all
// releases if the file system has no such locks or not all directories above were reached. They are known only
// by their paths.
func servedUnlocked(p Place, l *TreeLock) error {
	for _, st := range LivingStates() {
		kin, related := KinOf(p.Root, st.Source)
		if st.Mark == l.Mark || st.Mark != 0 && l.Known || !related {
			continue
		}
		if st.Mark == 0 && st.Locks == p.LockDir && (kin == KinSame || p.Shape != api.ShapeDirectory) {
			continue
		}
		return servedByMount(p, kin, st)
	}
	return nil
}

// KinOf says how the paths of two sources are related.
func KinOf(path, other string) (kinship, bool) {
	switch {
	case path == other:
		return KinSame, true
	case host.Within(other, path):
		return KinAbove, true
	case host.Within(path, other):
		return kinBelow, true
	}
	return "", false
}

// LivingStates are the mounts whose daemons have not ended, as far as this user may know.
func LivingStates() []*host.MountState {
	paths, _ := filepath.Glob(filepath.Join(host.EscapeGlob(host.RunDir()), "dev-*-*.state")) // the pattern is well-formed
	var out []*host.MountState
	for _, path := range paths {
		st := new(host.MountState)
		if host.ReadState(path, st) == nil && st.Version == host.StateVersion && st.Daemon.Liveness() != lease.Gone {
			out = append(out, st)
		}
	}
	return out
}

// lockerOf finds the process that holds the lock on a byte that only jvsfs uses. The kernel shows the process
// of such a lock only through its descriptor (proc_pid_fdinfo(5)).
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
		return false // gone, or we may not look at it
	}
	defer host.CloseFile(f)
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
