package doctor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
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

func TestOnlySharedWritableMappingsReachAFile(t *testing.T) {
	var maps strings.Builder
	for i, perms := range []string{"rw-s", "rw-p", "r--s", "-w-s", "rwxs"} {
		fmt.Fprintf(&maps, "%x000-%x001 %s 00000000 fe:10 77 /srv/repo/%d\n", i+1, i+1, perms, i)
	}
	got := host.ParseMaps(strings.NewReader(sharedWritable(maps.String())), func(api.Device, string) bool { return true })
	require.Equal(t, []string{"/srv/repo/0", "/srv/repo/3", "/srv/repo/4"}, got)
}

func TestWritingDescriptorsAreTold(t *testing.T) {
	name := t.TempDir() + "/f"
	for flags, want := range map[int]string{os.O_WRONLY | os.O_CREATE: ", open for writing", os.O_RDWR: ", open for writing", os.O_RDONLY: ""} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		f, err := os.OpenFile(name, flags, 0o600)
		require.NoError(t, err)
		require.Equal(t, want, writing(api.BusyEntry{PID: os.Getpid(), Use: fmt.Sprintf("fd %d", f.Fd())}))
		require.NoError(t, f.Close())
	}
	require.Empty(t, writing(api.BusyEntry{PID: os.Getpid(), Use: "cwd"}))
}
