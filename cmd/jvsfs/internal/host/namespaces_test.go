package host

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func tableText(t *testing.T, text string) MountTable {
	t.Helper()
	table, err := parseMounts(strings.NewReader(text))
	require.NoError(t, err)
	return table
}

// The machine's own table: /srv is a file system of its own with the repository in it,
// mounted over in place, and in view a second time.
const hostMounts = `27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 254:16 /data /srv rw shared:5 - ext4 /dev/vdb rw
40 30 0:50 / /srv/repo rw - fuse.jvsfs /srv/repo rw
41 27 254:16 / /mnt/disk rw - ext4 /dev/vdb rw
42 27 254:16 /data/repo/main /home/u/main rw - ext4 /dev/vdb rw
43 27 254:16 /data/other /home/u/other rw - ext4 /dev/vdb rw
44 27 254:16 /data/repo /hidden rw - ext4 /dev/vdb rw
45 44 0:60 / /hidden rw - tmpfs tmpfs rw
`

func TestWindowsToABareDirectory(t *testing.T) {
	host := tableText(t, hostMounts)
	carrier := host.ByID(30)
	bare := func(table MountTable) (paths []string) {
		for _, w := range Windows(table, carrier, "/srv/repo") {
			if w.Bare {
				paths = append(paths, w.Path)
			}
		}
		return paths
	}
	require.Equal(t, []string{"/mnt/disk/data/repo", "/home/u/main"}, bare(host),
		"the whole file system and a part of the repository; not the covered ones, not another directory")

	for name, c := range map[string]struct {
		table string
		want  []string
	}{
		"a container with the directory from before": {"100 99 0:70 / / rw - overlay overlay rw\n101 100 254:16 /data/repo /work rw - ext4 /dev/vdb rw\n", []string{"/work"}},
		"one that got the mount":                     {"100 99 0:70 / / rw - overlay overlay rw\n101 100 254:16 /data/repo /work rw - ext4 /dev/vdb rw\n102 101 0:50 / /work rw - fuse.jvsfs /srv/repo rw\n", nil},
		"one that got only the mount":                {"100 99 0:70 / / rw - overlay overlay rw\n102 100 0:50 / /work rw - fuse.jvsfs /srv/repo rw\n", nil},
		"one with another file system":               {"100 99 254:32 / / rw - ext4 /dev/vdc rw\n", nil},
		"a table without a root":                     {"101 100 254:16 /data/repo /work rw - ext4 /dev/vdb rw\n", nil},
	} {
		require.Equal(t, c.want, bare(tableText(t, c.table)), name)
	}
}

func TestNamespacesOfOthersAreRead(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	for _, ns := range ReadNamespaces("/proc") {
		require.NotEqual(t, own, ns.Name)
		require.NotEmpty(t, ns.PIDs)
	}
	require.Empty(t, ReadNamespaces(t.TempDir()))
}
