package host

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// engines are file systems that several hosts mount at the same time, by their types in the mount table, and their names for people.
// A file system that is not among them may be shared all the same (MayBeShared): tier.go of package lease trusts no type that it does not
// know.
var engines = map[string]string{
	"fuse.glusterfs": "GlusterFS",
	"ceph":           "CephFS", "fuse.ceph": "CephFS", "fuse.ceph-fuse": "CephFS",
	"fuse.juicefs": "JuiceFS",
	"fuse.mfs":     "MooseFS", "fuse.moosefs": "MooseFS", "fuse.lizardfs": "LizardFS", "fuse.saunafs": "SaunaFS",
	"nfs": "NFS", "nfs4": "NFS", "cifs": "SMB", "smb3": "SMB",
	"gfs2": "GFS2", "ocfs2": "OCFS2", "lustre": "Lustre", "beegfs": "BeeGFS", "orangefs": "OrangeFS", "afs": "AFS",
	"fuse.sshfs": "SSHFS",
}

// EngineOf names the file system of a mount if several hosts use it; "" otherwise.
func EngineOf(m *mountinfo.Info) string {
	switch {
	case m == nil:
		return ""
	case m.FSType == "fuse" && strings.HasPrefix(m.Source, "mfs#"): // MooseFS sets no subtype
		return "MooseFS"
	}
	return engines[m.FSType]
}

// ofOneHost are the types of FUSE that show what lies on this host to this host. Of no other type of FUSE it is known who else writes.
var ofOneHost = setOf("fuseblk", FSType,
	"fuse.bindfs", "fuse.mergerfs", "fuse.mhddfs", "fuse.unionfs", "fuse.unionfs-fuse", "fuse.fuse-overlayfs", "fuse.rofiles-fuse", "fuse.passthrough",
	"fuse.gocryptfs", "fuse.encfs", "fuse.securefs", "fuse.cryfs", "fuse.ecryptfs", "fuse.dislocker", "fuse.veracrypt",
	"fuse.ntfs-3g", "fuse.lowntfs-3g", "fuse.ntfs", "fuse.exfat", "fuse.exfat-fuse", "fuse.ext2", "fuse.ext4", "fuse.fuse-ext2", "fuse.fuse2fs",
	"fuse.zfs", "fuse.zfs-fuse", "fuse.apfs-fuse", "fuse.hfsfuse", "fuse.fusefat", "fuse.vdfuse",
	"fuse.squashfuse", "fuse.squashfuse_ll", "fuse.snapfuse", "fuse.erofsfuse", "fuse.dwarfs", "fuse.archivemount", "fuse.ratarmount",
	"fuse.fuse-archive", "fuse.fuse-zip", "fuse.fuseiso", "fuse.lxcfs", "fuse.portal")

func setOf(all ...string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, one := range all {
		set[one] = true
	}
	return set
}

// guests are file systems that a machine's host gives to its virtual machines: others, and the host itself, may write them, too.
var guests = setOf("9p", "virtiofs", "vboxsf", "prl_fs", "hgfs")

// MayBeShared says on which file system a path lies if other hosts may write it, too: one that several hosts use (EngineOf), one of
// the machine's own host, or a FUSE that is not known; "" if no other host does. What only shows another directory of this host is as
// that one is.
func (t MountTable) MayBeShared(path string) string {
	const links = 8 // a mount whose source lies on itself would have no end
	for range links {
		m := t.At(path)
		switch {
		case m == nil:
			return ""
		case EngineOf(m) != "":
			return EngineOf(m)
		case guests[m.FSType]:
			return "a file system of the machine's host (" + m.FSType + ")"
		case m.FSType != "fuse" && !strings.HasPrefix(m.FSType, "fuse."):
			return ""
		case !ofOneHost[m.FSType]:
			return fmt.Sprintf("a FUSE file system that jvsfs does not know (%s, of %.80q)", m.FSType, m.Source)
		case !filepath.IsAbs(m.Source) || filepath.Clean(m.Source) == path:
			return ""
		}
		path = filepath.Clean(m.Source) // of bindfs and its like the directory that it shows
	}
	return ""
}
