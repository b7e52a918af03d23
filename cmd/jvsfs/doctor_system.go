package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"golang.org/x/sys/unix"
)

// olderThan compares the first two numbers of kernel releases; what cannot be
// read is not older.
func olderThan(release, than string) bool {
	a, ok := versionOf(release)
	b, _ := versionOf(than)
	return ok && (a[0] < b[0] || a[0] == b[0] && a[1] < b[1])
}

func versionOf(s string) ([2]int, bool) {
	var v [2]int
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// checkClock asks the kernel whether the clock is disciplined, and how far off it
// believes to be (adjtimex(2)). Locking spec v6.3, "Clock skew detection": warn
// at half the bound. Above the bound the lease protocol's rule 7 refuses to steal.
func checkClock(bound time.Duration) []finding {
	var tx unix.Timex
	state, err := unix.Adjtimex(&tx)
	if err != nil {
		return []finding{warn("clock.unknown", "run it where adjtimex(2) is allowed", "adjtimex: %v", err)}
	}
	return []finding{clockFinding(state, tx.Status, clockError(tx), bound)}
}

// clockError is the larger of the offset being corrected and the estimated error.
func clockError(tx unix.Timex) time.Duration {
	unit := time.Microsecond
	if tx.Status&unix.STA_NANO != 0 {
		unit = time.Nanosecond
	}
	offset := (time.Duration(tx.Offset) * unit).Abs()
	return max(offset, time.Duration(tx.Esterror)*time.Microsecond)
}

// clockNoise is what clocks are away from each other, and time stamps from the clock, where
// all is well. A bound may be below it, even 0, for one who trusts the clocks of one host.
const clockNoise = 100 * time.Millisecond

func clockFinding(state int, status int32, off, bound time.Duration) finding {
	const fix = "run an NTP client (chronyc tracking, timedatectl status)"
	switch {
	case state == unix.TIME_ERROR || status&unix.STA_UNSYNC != 0:
		return warn("clock.unsynced", fix, "the clock is not synchronised; leases of several hosts rely on at most %s between their clocks", bound)
	case off > max(bound, clockNoise):
		return fail("clock.off", fix, "the clock is off by up to %s, more than the %s that leases allow: steals from and by other hosts are refused (%s)",
			off, bound, lease.ClassClockSkewExceeded)
	case off > max(bound/2, clockNoise):
		return warn("clock.off", fix, "the clock is off by up to %s, more than half of the %s that leases allow", off, bound)
	}
	return okf("clock.synced", "synchronised, off by at most %s", off)
}

// tierOf names what a lock directory's file system promises.
func tierOf(d lockDir) (finding, error) {
	path := d.name
	var st unix.Statfs_t
	if err := unix.Statfs(d.path, &st); err != nil {
		return finding{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if name, ok := localFileSystems[int64(st.Type)]; ok {
		return okf("tier.local", "%s is on %s: tier A, every writer of this machine is fenced, whatever clocks and pauses do", path, name), nil
	}
	return warn("tier.shared", "let all writers come through one machine, or rely on clocks within the configured skew",
		"%s is on a file system of type %s that several hosts may share: across hosts tokens never double, but a late write may land", path, typeName(int64(st.Type))), nil
}

// localFileSystems are those whose flock is the kernel's own (statfs(2)).
var localFileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.F2FS_SUPER_MAGIC: "f2fs",
	0x2fc12fc1: "zfs", unix.RAMFS_MAGIC: "ramfs", 0xca451a4e: "bcachefs",
}

func typeName(t int64) string {
	switch t {
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case 0x00c36400:
		return "ceph"
	case unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "smb"
	case unix.V9FS_MAGIC:
		return "9p"
	}
	return fmt.Sprintf("%#x", t)
}
