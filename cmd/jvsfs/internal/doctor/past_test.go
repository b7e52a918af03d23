package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

func named(pid int) string {
	return map[int]string{7: "containerd-shim", 8: "nginx"}[pid]
}

func TestNamespaceFindings(t *testing.T) {
	table := host.MountTable(testkit.Mounts(t, testkit.HostMounts))
	ns := host.MountNamespace{Name: "mnt:[5]", PIDs: []int{8, 9, 10, 11}, Table: host.MountTable(testkit.Mounts(t, "100 99 254:16 / / rw - ext4 /dev/vdb rw\n"))}
	found := namespaceFindings(ns, host.Windows(ns.Table, table.ByID(30), "/srv/repo"), "/srv/repo", named)
	require.Equal(t, []string{"bypass.namespace"}, testkit.BadFindings(t, found))
	require.Contains(t, found[0].Message, "at /data/repo, to process 8 (nginx), process 9 (), process 10 (), 1 more")
	require.Empty(t, namespaceFindings(ns, nil, "/srv/repo", named))
	require.Equal(t, []string{"bypass.bind", "bypass.bind"}, testkit.BadFindings(t, bindFindings(host.Windows(table, table.ByID(30), "/srv/repo"), "/srv/repo")))
}

func TestPrivatePropagationMattersToContainers(t *testing.T) {
	table := host.MountTable(testkit.Mounts(t, testkit.HostMounts))
	shared, private := table.ByID(30), table.ByID(27)
	runtime, daemon := []host.MountNamespace{{PIDs: []int{8, 7}}}, []host.MountNamespace{{PIDs: []int{8}}}
	require.Empty(t, testkit.BadFindings(t, privateFindings(shared, "/srv/repo", runtime, named)))
	require.Empty(t, testkit.BadFindings(t, privateFindings(private, "/srv/repo", daemon, named)))
	found := privateFindings(private, "/srv/repo", runtime, named)
	require.Equal(t, []string{"propagation.private"}, testkit.BadFindings(t, found))
	require.Contains(t, found[0].Message, "process 7 (containerd-shim)")
	require.Contains(t, found[0].Fix, "mount --make-shared /")
}
