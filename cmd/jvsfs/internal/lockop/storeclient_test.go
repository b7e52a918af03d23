package lockop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// The store of a descriptor is found by the mount that it is on, and by the device where that mount is in no table. Best is the root.
func TestTheStoreOfADescriptor(t *testing.T) {
	const disk, ceph, gluster = 1, 2, 3
	mounts := host.MountTable{
		{ID: 10, Minor: disk, Root: "/", Mountpoint: "/", FSType: "ext4"},
		{ID: 11, Minor: ceph, Root: "/sub", Mountpoint: "/mnt/sub", FSType: "fuse.ceph-fuse"},
		{ID: 12, Minor: ceph, Root: "/", Mountpoint: "/mnt/ceph", FSType: "fuse.ceph-fuse"},
		{ID: 13, Minor: gluster, Root: "/sub", Mountpoint: "/mnt/gluster", FSType: "fuse.glusterfs"},
	}
	for _, c := range []struct {
		minor uint32
		id    int
		at    string // "": none
	}{
		{ceph, 12, "/mnt/ceph"}, {ceph, 11, "/mnt/ceph"}, {ceph, 99, "/mnt/ceph"}, {gluster, 99, "/mnt/gluster"}, {disk, 10, "/"}, {7, 99, ""},
		{7, 12, "/mnt/ceph"}, // btrfs and its like show a device that the table does not have
	} {
		m := storeIn(mounts, api.Device{Minor: c.minor}, c.id)
		if c.at == "" {
			require.Nil(t, m)
			continue
		}
		require.Equal(t, c.at, m.Mountpoint, "device %d, mount %d", c.minor, c.id)
	}
}
