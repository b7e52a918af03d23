package doctor

import (
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

func named(pid int) string {
	return map[int]string{7: "containerd-shim", 8: "nginx"}[pid]
}

func TestNamespaceFindings(t *testing.T) {
	table := tableText(t, hostMounts)
	ns := host.MountNamespace{Name: "mnt:[5]", PIDs: []int{8, 9, 10, 11}, Table: tableText(t, "100 99 254:16 / / rw - ext4 /dev/vdb rw\n")}
	found := namespaceFindings(ns, host.Windows(ns.Table, table.ByID(30), "/srv/repo"), "/srv/repo", named)
	require.Equal(t, []string{"bypass.namespace"}, bad(t, found))
	require.Contains(t, found[0].Message, "at /data/repo, to process 8 (nginx), process 9 (), process 10 (), 1 more")
	require.Empty(t, namespaceFindings(ns, nil, "/srv/repo", named))
	require.Equal(t, []string{"bypass.bind", "bypass.bind"}, bad(t, bindFindings(host.Windows(table, table.ByID(30), "/srv/repo"), "/srv/repo")))
}

func TestPrivatePropagationMattersToContainers(t *testing.T) {
	table := tableText(t, hostMounts)
	shared, private := table.ByID(30), table.ByID(27)
	runtime, daemon := []host.MountNamespace{{PIDs: []int{8, 7}}}, []host.MountNamespace{{PIDs: []int{8}}}
	require.Empty(t, bad(t, privateFindings(shared, "/srv/repo", runtime, named)))
	require.Empty(t, bad(t, privateFindings(private, "/srv/repo", daemon, named)))
	found := privateFindings(private, "/srv/repo", runtime, named)
	require.Equal(t, []string{"propagation.private"}, bad(t, found))
	require.Contains(t, found[0].Message, "process 7 (containerd-shim)")
	require.Contains(t, found[0].Fix, "mount --make-shared /")
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

func tableText(t *testing.T, text string) host.MountTable {
	t.Helper()
	table, err := mountinfo.GetMountsFromReader(strings.NewReader(text), nil)
	require.NoError(t, err)
	return table
}
