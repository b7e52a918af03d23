package place

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Some directories cannot be fenced by a mount, or not without fencing the daemon itself out of
// what it needs. A mount over / covers nothing, for the root of a process is a directory and not a
// path: nobody comes through it, and nobody can take it away by its path.

// kernelTypes are the file systems that the kernel makes up: nobody keeps files in them.
var kernelTypes = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "resctrl", "rpc_pipefs", "securityfs", "selinuxfs",
	"smackfs", "sysfs", "tracefs",
}

// stateDirs are where the running jvsfs keeps what it needs to serve, to be asked and to come back.
var stateDirs = []struct{ dir, what string }{
	{host.SocketDir, "the control sockets of all mounts, and what brings them back"},
	{DefaultControlRoot, "the lease records of plain directories"},
}

// Mountable refuses to guard p at a mount point where that would fence nothing, or what jvsfs
// itself needs. log is its log file.
func (p Place) Mountable(point, log string, mounts host.MountTable) error {
	for _, dir := range slices.Compact([]string{p.Root, point}) {
		if err := fenceable(dir, mounts); err != nil {
			return err
		}
		for _, s := range stateDirs {
			if holds(dir, s.dir) || host.Within(s.dir, dir) {
				return p.holdsState(dir, s.dir, s.what)
			}
		}
		if holds(dir, filepath.Dir(log)) {
			return p.holdsState(dir, log, "the log of the mount itself")
		}
		if err := p.holdsRecords(dir); err != nil {
			return err
		}
	}
	return nil
}

// fenceable refuses the root of all, and what is no directory of anybody's.
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

// errNotFenceable is the cause of refusing a directory that no mount can fence.
var errNotFenceable = fmt.Errorf("not a directory to be fenced")

// holdsRecords refuses to guard the records of this mount and of those that live, unless they are
// the tree's own.
func (p Place) holdsRecords(dir string) error {
	covers := !host.Within(p.Root, p.LockDir) && holds(dir, p.LockDir) // a mount point elsewhere
	if covers || sameDirectory(dir, p.LockDir) || host.Within(p.LockDir, dir) {
		return p.holdsState(dir, p.LockDir, "the lease records of this very mount")
	}
	for _, st := range LivingStates() {
		if st.Locks != p.LockDir && !host.Within(st.Source, st.Locks) && apart(p.Root, st.Source) && holds(dir, st.Locks) {
			return p.holdsState(dir, st.Locks, "the lease records of the mount at "+st.Mountpoint)
		}
	}
	return nil
}

// apart tells whether two sources have nothing to do with each other; of others LockTree tells.
func apart(path, other string) bool {
	_, related := KinOf(path, other)
	return !related
}

func (p Place) holdsState(dir, state, what string) *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Err: errNotFenceable,
		Message: fmt.Sprintf("%s cannot be guarded: jvsfs itself needs what lies at %s (%s), and would wait for itself", dir, state, what),
		Next:    "name a directory that does not hold it, or keep that elsewhere (--control, --log-file)"}
}

// holds tells whether a directory is one that exists on the way to path: by what they are, not by
// their names, for a bind mount gives a directory another one.
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

// sameDirectory never asks a daemon anything: it may be a stopped one.
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
