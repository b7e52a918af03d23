package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

func TestMountsThatShowTheBareDirectoryAreFound(t *testing.T) {
	host := MountTable(testkit.Mounts(t, testkit.HostMounts))
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
		require.Equal(t, c.want, bare(MountTable(testkit.Mounts(t, c.table))), name)
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
