package storewatch

import (
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Another file system at the place of the store may be the store again, if it is of the same kind. Its empty mount point is not.
func TestTheEmptyMountPointOfAStoreIsNotTheStore(t *testing.T) {
	root := &mountinfo.Info{ID: 1, Major: 8, Minor: 1, Mountpoint: "/", FSType: "ext4"}
	at := func(id, minor int, point, kind string) *mountinfo.Info {
		return &mountinfo.Info{ID: id, Parent: 1, Minor: minor, Mountpoint: point, FSType: kind}
	}
	over := func(m *mountinfo.Info, parent int) *mountinfo.Info { m.Parent = parent; return m }
	dirs := []opened{
		{Dir: Dir{Path: "/store/work"}, device: api.Device{Minor: 40}, kind: "fuse.glusterfs"},
		{Dir: Dir{Path: "/records"}, device: api.Device{Minor: 41}, kind: "ceph"},
	}
	records := at(3, 41, "/records", "ceph")
	for name, x := range map[string]struct {
		mounts         host.MountTable
		changed, alike bool
	}{
		"as it was":                    {host.MountTable{root, at(2, 40, "/store", "fuse.glusterfs"), records}, false, false},
		"unmounted":                    {host.MountTable{root, records}, true, false},
		"mounted again":                {host.MountTable{root, at(4, 50, "/store", "fuse.glusterfs"), records}, true, true},
		"mounted over the one before":  {host.MountTable{root, at(2, 40, "/store", "fuse.glusterfs"), over(at(4, 50, "/store", "fuse.glusterfs"), 2), records}, true, true},
		"another one at its place":     {host.MountTable{root, at(4, 50, "/store", "tmpfs"), records}, true, false},
		"the records mounted again":    {host.MountTable{root, at(2, 40, "/store", "fuse.glusterfs"), at(5, 51, "/records", "ceph")}, true, true},
		"one of the two mounted again": {host.MountTable{root, at(4, 50, "/store", "fuse.glusterfs")}, true, false},
		"no mounts":                    {nil, true, false},
	} {
		changed, alike := compare(x.mounts, dirs)
		require.Equal(t, []bool{x.changed, x.alike}, []bool{changed, alike}, name)
	}
}

// Records inside of the source come back with it, whatever is mounted at their path.
func TestRecordsInsideOfTheSourceComeBackWithIt(t *testing.T) {
	root := &mountinfo.Info{ID: 1, Major: 8, Minor: 1, Mountpoint: "/", FSType: "ext4"}
	inside := &mountinfo.Info{ID: 3, Parent: 2, Minor: 60, Mountpoint: "/store/.jvs/locks", FSType: "tmpfs"}
	dirs := []opened{{Dir: Dir{Path: "/store"}, device: api.Device{Minor: 40}, kind: "fuse.far"}, {Dir: Dir{Path: "/store/.jvs/locks"}, device: api.Device{Minor: 40}, inside: true}}
	for minor, again := range map[int]bool{40: false, 50: true} {
		changed, alike := compare(host.MountTable{root, {ID: 2, Parent: 1, Minor: minor, Mountpoint: "/store", FSType: "fuse.far"}, inside}, dirs)
		require.Equal(t, []bool{again, again}, []bool{changed, alike})
	}
}
