package paths

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// noRoot is where nothing lies: an empty name would mean the source.
const noRoot = "\x00"

// RootOf is where a worktree's root is below the source.
func (d *Paths) RootOf(id lease.WorktreeID) string {
	switch {
	case !d.repository:
		return cmp.Or(d.tree.RootOf(id), noRoot)
	case id == "main":
		return "main"
	}
	return "worktrees/" + string(id)
}

// LookForRoot says why the directory of a worktree does not exist; nil if it does.
func (d *Paths) LookForRoot(id lease.WorktreeID) error {
	var st unix.Stat_t
	return unix.Fstatat(d.tree.SourceFD(), d.RootOf(id), &st, unix.AT_SYMLINK_NOFOLLOW)
}

// MustExist refuses a worktree that does not exist, so that users cannot make the daemon remember any number of
// names. Root may name a worktree that is made later.
func (d *Paths) MustExist(id lease.WorktreeID, uid uint32) error {
	if uid == 0 {
		return nil
	}
	err := d.LookForRoot(id)
	if err == nil {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("there is no worktree %s: %v", id, err), Next: "make it first, or ask root", Err: err}
}

// MayWrite reports whether a process may write to a worktree's root and can reach it. A user who may not write
// must not keep others from writing. The backing file system decides, by its own rules.
func (d *Paths) MayWrite(id lease.WorktreeID, who process.Identity) bool {
	if who.UID == 0 {
		return true
	}
	k, err := process.CredentialsOfProcess(who.PID)
	if err != nil || k.UID != who.UID { // it has just changed its user
		return false
	}
	root := d.RootOf(id)
	fd, err := unix.Openat(d.tree.SourceFD(), root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // only looked at
	return may(k, fd, "", unix.W_OK|unix.X_OK) && mayPass(k, d.tree.SourceFD(), root) && d.mayReach(k, who.PID)
}

// ReachedByAll reports whether everybody can come to a directory. It does not look at the directory itself, which
// may be our own mount.
func ReachedByAll(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || st.Mode&unix.S_IXOTH == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
}

// may asks whether a user may access name below dirfd. In a user namespace of its own, a process has power over
// the files of the users in that namespace.
func may(k process.Credentials, dirfd int, name string, mode uint32) bool {
	if fusefs.MayAccess(k, dirfd, name, mode) == nil {
		return true
	}
	var st unix.Stat_t
	return unix.Fstatat(dirfd, name, &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW) == nil &&
		k.Capable(unix.CAP_DAC_OVERRIDE, st.Uid, st.Gid)
}

// mayPass asks about each directory on a relative path.
func mayPass(k process.Credentials, dirfd int, path string) bool {
	if !may(k, dirfd, "", unix.X_OK) {
		return false
	}
	for i, c := range path {
		if c == '/' && !may(k, dirfd, path[:i], unix.X_OK) {
			return false
		}
	}
	return true
}

// mayReach reports whether a process can walk to the mount, in this mount namespace or in its own, or has its
// working directory there.
func (d *Paths) mayReach(k process.Credentials, pid int) bool {
	if fusefs.MayAccess(k, unix.AT_FDCWD, filepath.Dir(d.mountpoint), unix.X_OK) == nil {
		return true
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	var stx unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, filepath.Join(proc, "cwd"), unix.AT_STATX_DONT_SYNC, 0, &stx) == nil &&
		(api.Device{Major: stx.Dev_major, Minor: stx.Dev_minor}) == d.device() {
		return true
	}
	root, err := unix.Open(filepath.Join(proc, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(root) //nolint:errcheck // only looked at
	table := host.TableOf(filepath.Join(proc, "mountinfo"))
	for _, m := range table.JVSFS() {
		// A covered mount cannot be reached by path. In a mount namespace of its own, anybody can cover a
		// directory that it may not enter with one that it may enter.
		if host.DeviceOf(m) == d.device() && table.At(m.Mountpoint) == m && fusefs.MayAccess(k, root, below(filepath.Dir(m.Mountpoint)), unix.X_OK) == nil {
			return true
		}
	}
	return false
}

// below turns an absolute path into one relative to the root.
func below(path string) string { return "." + path }

func (d *Paths) device() api.Device {
	major, minor := d.tree.Device()
	return api.Device{Major: major, Minor: minor}
}
