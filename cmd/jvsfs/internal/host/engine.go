package host

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// engines are file systems that several hosts mount at the same time, by their types in the mount table, and their names for people.
// A file system that is not among them may be shared all the same: tier.go of package lease trusts no type that it does not know. This
// table is for what is refused, and must not be by mistake.
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
