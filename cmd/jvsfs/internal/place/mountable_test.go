package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

func TestDirectoriesThatNoMountFencesAreRefused(t *testing.T) {
	all, err := mountinfo.GetMountsFromReader(strings.NewReader(`27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 0:5 / /dev rw - devtmpfs udev rw
29 28 0:6 / /dev/shm rw - tmpfs tmpfs rw
30 27 0:7 / /proc rw - proc proc rw
`), nil)
	require.NoError(t, err)
	table := host.MountTable(all)
	base := t.TempDir()
	log := filepath.Join(base, "log", "jvsfs.log")
	for _, dir := range []string{"log/in", "tree", "locks/in"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	require.NoError(t, os.Symlink("log", filepath.Join(base, "link")))
	for dir, want := range map[string]string{
		"/": "/ cannot be guarded", "/dev": "devtmpfs at /dev", "/dev/fd": "devtmpfs at /dev", "/proc/1": "proc at /proc",
		"/run": "/run/jvsfs", "/run/jvsfs": "/run/jvsfs", "/run/jvsfs/x": "/run/jvsfs", "/var": "/var/lib/jvsfs", "/var/lib/jvsfs/locks/x": "/var/lib/jvsfs",
		base: "log of the mount itself", base + "/log": "log of the mount itself", base + "/link": "log of the mount itself",
		base + "/locks": "records of this very mount", base + "/locks/in": "records of this very mount",
		base + "/tree": "", base + "/log/in": "", "/dev/shm": "", "/dev/shm/x": "",
	} {
		p := Place{Root: dir, LockDir: filepath.Join(base, "locks")}
		elsewhere := Place{Root: filepath.Join(base, "tree"), LockDir: p.LockDir}
		for point, err := range map[string]error{"in place": p.Mountable(dir, log, table), "over it": elsewhere.Mountable(dir, log, table)} {
			if want == "" {
				require.NoError(t, err, "%s %s", dir, point)
				continue
			}
			require.ErrorIs(t, err, errNotFenceable, "%s %s", dir, point)
			require.ErrorContains(t, err, want, "%s %s", dir, point)
		}
	}
}
