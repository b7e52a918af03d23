package host

import (
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

func TestEngineOf(t *testing.T) {
	for want, m := range map[string]*mountinfo.Info{
		"GlusterFS": {FSType: "fuse.glusterfs", Source: "server:v"}, "NFS": {FSType: "nfs4"}, "MooseFS": {FSType: "fuse", Source: "mfs#master:9421"},
		"": {FSType: "fuse.mergerfs"},
	} {
		require.Equal(t, want, EngineOf(m), "%+v", m)
	}
	for _, local := range []string{"ext4", "tmpfs", "overlay", "fuse", FSType} {
		require.Empty(t, EngineOf(&mountinfo.Info{FSType: local}), local)
	}
	require.Empty(t, EngineOf(nil))
}

// What is not known to be of this host alone may be shared. What shows another directory is as that one.
func TestMayBeShared(t *testing.T) {
	table := MountTable{
		{ID: 1, Parent: 0, Mountpoint: "/", FSType: "ext4"},
		{ID: 2, Parent: 1, Mountpoint: "/vol", FSType: "fuse.glusterfs", Source: "server:v"},
		{ID: 3, Parent: 1, Mountpoint: "/shown", FSType: "fuse.bindfs", Source: "/vol/tree"},
		{ID: 4, Parent: 1, Mountpoint: "/own", FSType: "fuse.bindfs", Source: "/srv"},
		{ID: 5, Parent: 1, Mountpoint: "/self", FSType: "fuse.gocryptfs", Source: "/self"},
		{ID: 6, Parent: 1, Mountpoint: "/loop", FSType: "fuse.gocryptfs", Source: "/loop/in"},
		{ID: 7, Parent: 1, Mountpoint: "/vm", FSType: "virtiofs", Source: "tag"},
		{ID: 8, Parent: 1, Mountpoint: "/share", FSType: "9p", Source: "share"},
		{ID: 9, Parent: 1, Mountpoint: "/new", FSType: "fuse.newfs", Source: "pool"},
		{ID: 10, Parent: 1, Mountpoint: "/bare", FSType: "fuse", Source: "/dev/fuse"},
		{ID: 11, Parent: 1, Mountpoint: "/disk", FSType: "fuseblk", Source: "/dev/sdb1"},
		{ID: 12, Parent: 1, Mountpoint: "/pool", FSType: "fuse.mergerfs", Source: "a:b"},
	}
	for path, want := range map[string]string{
		"/srv": "", "/own": "", "/self": "", "/loop": "", "/disk": "", "/pool/x": "",
		"/vol/tree": "GlusterFS", "/shown/x": "GlusterFS", "/vm": "virtiofs", "/share/a": "9p",
		"/new": `fuse.newfs, of "pool"`, "/bare": "fuse, of",
	} {
		got := table.MayBeShared(path)
		if want == "" {
			require.Empty(t, got, path)
			continue
		}
		require.Contains(t, got, want, path)
	}
}
