package lockdir

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

// tierOf names what a lock directory's file system promises.
func tierOf(d Dir) (finding.Finding, error) {
	path := d.Name
	var st unix.Statfs_t
	if err := unix.Statfs(d.Path, &st); err != nil {
		return finding.Finding{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if name, ok := localFileSystems[kindOf(&st)]; ok {
		return finding.OK("tier.local", "%s is on %s: tier A, every writer of this machine is fenced, whatever clocks and pauses do", path, name), nil
	}
	return finding.Warn("tier.shared", "let all writers come through one machine, or rely on clocks within the configured skew",
		"%s is on a file system of type %s that several hosts may share: across hosts tokens never double, but a late write may land", path, typeName(kindOf(&st))), nil
}

func kindOf(st *unix.Statfs_t) int64 {
	return int64(st.Type) //nolint:unconvert // 32 bits on other processors
}

// localFileSystems are the file systems whose flock is the kernel's own (statfs(2)).
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

// ClockNoise is the normal difference between clocks, and between time stamps and the clock. A configured bound
// may be lower, even 0, if the clocks of one host are trusted.
const ClockNoise = 100 * time.Millisecond
