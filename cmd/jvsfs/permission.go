package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"golang.org/x/sys/unix"
)

// rootOf is where a worktree's root is below the source.
func (d *daemon) rootOf(id lease.WorktreeID) string {
	switch {
	case d.place.Shape != shapeRepository:
		return "."
	case id == "main":
		return "main"
	}
	return "worktrees/" + string(id)
}

// lookForRoot says why the directory of a worktree is not there, nil if it is.
func (d *daemon) lookForRoot(id lease.WorktreeID) error {
	var st unix.Stat_t
	return unix.Fstatat(d.fs.SourceFD(), d.rootOf(id), &st, unix.AT_SYMLINK_NOFOLLOW)
}

// mustExist keeps users from making the daemon remember worktrees that there are
// none of. Root may name one that is yet to be made.
func (d *daemon) mustExist(id lease.WorktreeID, uid uint32) error {
	if uid == 0 {
		return nil
	}
	err := d.lookForRoot(id)
	if err == nil {
		return nil
	}
	return &failure{Class: classUsage, Message: fmt.Sprintf("there is no worktree %s: %v", id, err), Next: "make it first, or ask root", err: err}
}

// mayWrite tells whether a process may write to a worktree's root by its owner,
// group and mode: who may not has no business keeping others from writing. Where an
// ACL refines the mode, the group bits are its mask, and being named in it is taken
// for granted: the kernel judges each write anyway.
func (d *daemon) mayWrite(id lease.WorktreeID, who gate.Identity) bool {
	if who.UID == 0 {
		return true
	}
	fd, err := unix.Openat(d.fs.SourceFD(), d.rootOf(id), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // only looked at
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	_, err = unix.Fgetxattr(fd, "system.posix_acl_access", nil)
	switch {
	case st.Uid == who.UID:
		return st.Mode&0o200 != 0
	case err == nil || inGroup(who.PID, st.Gid):
		return st.Mode&0o020 != 0
	}
	return st.Mode&0o002 != 0
}

// inGroup tells whether a process is in a group, by its file system gid or one of
// its supplementary groups.
func inGroup(pid int, gid uint32) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	want := strconv.FormatUint(uint64(gid), 10)
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(line, "Gid:"); ok {
			if f := strings.Fields(v); len(f) == 4 && f[3] == want {
				return true
			}
		}
		if v, ok := strings.CutPrefix(line, "Groups:"); ok {
			for _, g := range strings.Fields(v) {
				if g == want {
					return true
				}
			}
		}
	}
	return false
}
