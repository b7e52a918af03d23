package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sampleMounts = `22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /srv/repo rw - fuse.jvsfs /srv/repo rw
41 40 0:51 / /srv/repo/main/tmp rw - tmpfs tmpfs rw
42 27 0:52 / /data rw - tmpfs tmpfs rw
43 42 0:53 / /data/tree rw - fuse.jvsfs /data/tree rw
44 42 0:54 / /data rw - tmpfs over rw
45 27 0:50 /main /mnt/bind rw - fuse.jvsfs /srv/repo rw
46 27 0:55 / /srv/with\040space rw - fuse.jvsfs /srv/with\040space rw
`

func sampleTable(t *testing.T) MountTable {
	t.Helper()
	table, err := parseMounts(strings.NewReader(sampleMounts))
	require.NoError(t, err)
	return table
}

func TestMountAtWalksLikeTheKernel(t *testing.T) {
	table := sampleTable(t)
	for path, id := range map[string]int{
		"/":                      27,
		"/srv":                   27,
		"/srv/repository":        27, // a longer name is not below
		"/srv/repo":              40,
		"/srv/repo/main/x":       40,
		"/srv/repo/main/tmp/x":   41, // another file system inside
		"/data/tree/x":           44, // covered by a later mount of /data
		"/mnt/bind/sub":          45,
		"/srv/with space/a":      46,
		"/proc/self":             22,
		"/srv/repo/main/tmpfile": 40,
	} {
		m := table.At(path)
		require.NotNil(t, m, path)
		require.Equal(t, id, m.ID, path)
	}
}

func TestInMountCountsTheRootOfABindMount(t *testing.T) {
	table := sampleTable(t)
	require.Equal(t, "", InMount(table.At("/srv/repo"), "/srv/repo"))
	require.Equal(t, "worktrees/a", InMount(table.At("/srv/repo"), "/srv/repo/worktrees/a"))
	require.Equal(t, "main", InMount(table.At("/mnt/bind"), "/mnt/bind"))
	require.Equal(t, "main/x", InMount(table.At("/mnt/bind"), "/mnt/bind/x"))
}

func TestMountTableWithoutRoot(t *testing.T) {
	require.Nil(t, MountTable{}.At("/x"))
}

func TestStackAt(t *testing.T) {
	table := MountTable{
		{ID: 1, Mountpoint: "/"},
		{ID: 2, Parent: 1, Mountpoint: "/srv", FSType: "ext4"},
		{ID: 3, Parent: 2, Mountpoint: "/srv", FSType: FSType},
		{ID: 4, Parent: 3, Mountpoint: "/srv", FSType: FSType},
		{ID: 5, Parent: 4, Mountpoint: "/srv/in", FSType: "tmpfs"},
	}
	stack := table.StackAt("/srv")
	require.Len(t, stack, 2)
	require.Equal(t, 4, stack[0].ID)
	require.Empty(t, table.StackAt("/srv/in"))
	require.Empty(t, table.StackAt("/"))
}

func TestPathInCountsTheRootOfABindMount(t *testing.T) {
	table := sampleTable(t)
	require.Equal(t, "/srv/repo", PathIn(table.At("/srv/repo"), "."))
	require.Equal(t, "/srv/repo/worktrees/a", PathIn(table.At("/srv/repo"), "worktrees/a"))
	require.Equal(t, "/mnt/bind", PathIn(table.At("/mnt/bind"), "main"))
	require.Equal(t, "/mnt/bind/x", PathIn(table.At("/mnt/bind"), "main/x"))
	require.Equal(t, "/mnt/bind", PathIn(table.At("/mnt/bind"), "."), "it is above what is shown")
}
