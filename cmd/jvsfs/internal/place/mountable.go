package place

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// A mount cannot fence some directories, or it would fence the daemon itself out of what the daemon needs. A mount
// over / covers nothing, because the root of a process is a directory and not a path: nobody comes through the
// mount, and nobody can unmount it by its path.

// kernelTypes are the file systems that the kernel generates. Nobody keeps files in them.
var kernelTypes = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"fusectl", "hugetlbfs", "nsfs", "proc", "pstore", "resctrl", "rpc_pipefs", "securityfs", "selinuxfs",
	"smackfs", "sysfs", "tracefs",
}

type stateDir struct{ dir, what string }

// stateDirs are the directories in which the running jvsfs keeps what it needs to serve, to answer and to recover.
func stateDirs() []stateDir {
	return []stateDir{
		{host.RunDir(), "the control sockets of all mounts, and what brings them back"},
		{controlRoot(), "the lease records of plain directories"},
	}
}

// Mountable refuses to guard p at a mount point if that would fence nothing, or would fence what jvsfs itself
// needs. log is the log file of the mount, living are the mounts that are served already (LivingStates).
func (p Place) Mountable(point, log string, mounts host.MountTable, living []*host.MountState) error {
	for _, dir := range slices.Compact([]string{p.Root, point}) {
		if err := fenceable(dir, mounts); err != nil {
			return err
		}
		for _, s := range stateDirs() {
			if holds(dir, s.dir) || host.Within(s.dir, dir) {
				return p.holdsState(dir, s.dir, s.what)
			}
		}
		if holds(dir, filepath.Dir(log)) {
			return p.holdsState(dir, log, "the log of the mount itself")
		}
		if err := p.holdsRecords(dir, living); err != nil {
			return err
		}
	}
	return nil
}

// fenceable refuses /, and directories that belong to the kernel.
func fenceable(dir string, mounts host.MountTable) error {
	if dir == "/" {
		return &api.Failure{Class: api.ClassUsage, Err: errNotFenceable,
			Message: "/ cannot be guarded: the processes of this machine stand in it already, none would come through the mount, and nothing could unmount it",
			Next:    "name the directory that is to have one writer"}
	}
	if m := mounts.At(dir); m != nil && slices.Contains(kernelTypes, m.FSType) {
		return &api.Failure{Class: api.ClassUsage, Err: errNotFenceable,
			Message: fmt.Sprintf("%s lies in a file system of the kernel's own (%s at %s): there is no directory of yours to guard", dir, m.FSType, m.Mountpoint),
			Next:    "name the directory that is to have one writer"}
	}
	return nil
}

// errNotFenceable is the cause if no mount can fence a directory.
var errNotFenceable = fmt.Errorf("not a directory to be fenced")

// holdsRecords refuses to guard the lease records of this mount and of living mounts, unless they are the records
// of this tree.
func (p Place) holdsRecords(dir string, living []*host.MountState) error {
	covers := !host.Within(p.Root, p.LockDir) && holds(dir, p.LockDir) // a mount point elsewhere
	if covers || sameDirectory(dir, p.LockDir) || host.Within(p.LockDir, dir) {
		return p.holdsState(dir, p.LockDir, "the lease records of this very mount")
	}
	for _, st := range living {
		if st.Locks != p.LockDir && !host.Within(st.Source, st.Locks) && apart(p.Root, st.Source) && holds(dir, st.Locks) {
			return p.holdsState(dir, st.Locks, "the lease records of the mount at "+st.Mountpoint)
		}
	}
	return nil
}

// apart reports whether two sources are unrelated. LockTree judges the related ones.
func apart(path, other string) bool {
	_, related := KinOf(path, other)
	return !related
}

func (p Place) holdsState(dir, state, what string) *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Err: errNotFenceable,
		Message: fmt.Sprintf("%s cannot be guarded: jvsfs itself needs what lies at %s (%s), and would wait for itself", dir, state, what),
		Next:    "name a directory that does not hold it, or keep that elsewhere (--control, --log-file)"}
}

// holds reports whether a directory is on the way to path. It compares inodes, not names, because a bind mount
// gives a directory another name.
func holds(dir, path string) bool {
	for ; ; path = filepath.Dir(path) {
		if path == dir || sameDirectory(dir, path) {
			return true
		}
		if path == "/" || path == "." {
			return false
		}
	}
}

// sameDirectory never asks a daemon, because a stopped one does not answer.
func sameDirectory(a, b string) bool {
	var x, y unix.Statx_t
	if statOf(a, &x) != nil || statOf(b, &y) != nil {
		return false
	}
	return x.Ino == y.Ino && x.Dev_major == y.Dev_major && x.Dev_minor == y.Dev_minor
}

func statOf(path string, st *unix.Statx_t) error {
	return unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, st)
}
