package lockdir

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/lease"
)

// tierOf names what a lock directory's file system promises.
func tierOf(d Dir) (finding.Finding, error) {
	path := d.Name
	var st unix.Statfs_t
	if err := unix.Statfs(d.Path, &st); err != nil {
		return finding.Finding{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if name := lease.LocalFileSystem(&st); name != "" {
		return finding.OK("tier.local", "%s is on %s: tier A, every writer of this machine is fenced, whatever clocks and pauses do", path, name), nil
	}
	if d.NameCache != "" {
		return finding.Fail("tier.hides_names", "gluster volume set VOLUME performance.nl-cache off",
			"%s: the client of the store (%s) remembers for minutes that a name does not exist: a holder does not see its successor for as long", path, d.NameCache), nil
	}
	if d.Store != nil {
		return finding.Warn("tier.shared", "read jvsfs-hosts(7); a fence agent makes a silent host certain: jvsfs-fence(7)", "%s: %s", path, d.Store.Text()), nil
	}
	return finding.Warn("tier.shared", "let all writers come through one machine, or rely on clocks within the configured skew",
		"%s is on a file system of type %s that several hosts may share: across hosts tokens never double, but a late write may land", path, typeName(kindOf(&st))), nil
}

func kindOf(st *unix.Statfs_t) int64 {
	return int64(st.Type) //nolint:unconvert // 32 bits on other processors
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
