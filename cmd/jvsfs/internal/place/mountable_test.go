package place

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// The mounts that live are those of the test: on a machine with others the records of one may be in any directory, /dev/shm too.
func TestDirectoriesThatNoMountFencesAreRefused(t *testing.T) {
	base := t.TempDir()
	above := 27
	if host.Within("/dev", base) { // TMPDIR may be anywhere
		above = 28
	}
	all, err := mountinfo.GetMountsFromReader(strings.NewReader(fmt.Sprintf(`27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 0:5 / /dev rw - devtmpfs udev rw
30 27 0:7 / /proc rw - proc proc rw
31 %[2]d 0:8 / %[1]s rw - tmpfs tmpfs rw
32 31 0:9 / %[1]s/dev rw - devtmpfs udev rw
33 32 0:10 / %[1]s/dev/shm rw - tmpfs tmpfs rw
`, base, above)), nil)
	require.NoError(t, err)
	table := host.MountTable(all)
	log := filepath.Join(base, "log", "jvsfs.log")
	for _, dir := range []string{"log/in", "tree", "locks/in", "dev/shm/x", "theirs/locks", "theirs/tree"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	require.NoError(t, os.Symlink("log", filepath.Join(base, "link")))
	living := []*host.MountState{
		{Mountpoint: "/mnt/theirs", Source: base + "/theirs/tree", Locks: base + "/theirs/locks"},
		{Mountpoint: "/mnt/whole", Source: base + "/dev/shm/x", Locks: base + "/dev/shm/x/.jvs/locks"}, // they go with their tree
		{Mountpoint: "/mnt/same", Source: "/elsewhere", Locks: base + "/locks"},
	}
	for dir, want := range map[string]string{
		"/": "/ cannot be guarded", "/dev": "devtmpfs at /dev", "/dev/fd": "devtmpfs at /dev", "/proc/1": "proc at /proc", base + "/dev": "devtmpfs at " + base + "/dev",
		"/run": "/run/jvsfs", "/run/jvsfs": "/run/jvsfs", "/run/jvsfs/x": "/run/jvsfs", "/var": "/var/lib/jvsfs", "/var/lib/jvsfs/locks/x": "/var/lib/jvsfs",
		base: "log of the mount itself", base + "/log": "log of the mount itself", base + "/link": "log of the mount itself",
		base + "/locks": "records of this very mount", base + "/locks/in": "records of this very mount",
		base + "/theirs/locks": "records of the mount at /mnt/theirs",
		base + "/tree":         "", base + "/log/in": "", base + "/dev/shm": "", base + "/dev/shm/x": "",
	} {
		p := Place{Root: dir, LockDir: filepath.Join(base, "locks")}
		elsewhere := Place{Root: filepath.Join(base, "tree"), LockDir: p.LockDir}
		for point, err := range map[string]error{"in place": p.Mountable(dir, log, table, living), "over it": elsewhere.Mountable(dir, log, table, living)} {
			if want == "" {
				require.NoError(t, err, "%s %s", dir, point)
				continue
			}
			require.ErrorIs(t, err, errNotFenceable, "%s %s", dir, point)
			require.ErrorContains(t, err, want, "%s %s", dir, point)
		}
	}
}
