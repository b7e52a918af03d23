package recovery

import (
	"os"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

// A mount that came there meanwhile is another's, and stays.
func TestOnlyTheDeadMountItselfIsUnmounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("dead", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	dead, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	require.NoError(t, unix.Mount("another", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	_, err = host.HoldMount(dead[0])
	require.ErrorContains(t, err, "have just changed")
	r := &Recovery{Point: dir, Dead: dead}
	require.Error(t, r.TakeAway(dead[0], func(error) {}))
	left, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)

	// Nor is a mount that has got the number of one that is gone.
	for name, gone := range map[string]mountinfo.Info{
		"at another place":  {ID: left[1].ID, Mountpoint: dir + "/x", Major: left[1].Major, Minor: left[1].Minor},
		"of another device": {ID: left[1].ID, Mountpoint: dir, Major: left[1].Major, Minor: left[1].Minor + 1},
	} {
		r := &Recovery{Point: gone.Mountpoint, Dead: []*mountinfo.Info{&gone}}
		require.ErrorContains(t, r.TakeAway(&gone, func(error) {}), "has just gone", name)
	}
	after, err := testkit.MountsOn(dir)
	require.NoError(t, err)
	require.Equal(t, left, after)
}

func TestNoMountOfOthersIsUnmountedWithADeadOne(t *testing.T) {
	table := host.MountTable{
		{ID: 1, Mountpoint: "/"},
		{ID: 3, Parent: 1, Mountpoint: "/srv", FSType: host.FSType},
		{ID: 4, Parent: 3, Mountpoint: "/srv", FSType: host.FSType},
		{ID: 5, Parent: 4, Mountpoint: "/srv/in", FSType: "tmpfs"},
	}
	r := Recovery{Point: "/srv", Dead: table.StackAt("/srv")}
	require.ErrorContains(t, r.unencumbered(table), "/srv/in")
	require.NoError(t, r.unencumbered(table[:3]))
}
