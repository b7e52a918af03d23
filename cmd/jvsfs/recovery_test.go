package main

import (
	"os"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A mount that came there meanwhile is another's, and stays.
func TestOnlyTheVeryMountIsTakenAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("dead", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	dead, err := mountsOn(dir)
	require.NoError(t, err)
	require.NoError(t, unix.Mount("another", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	_, err = holdMount(dead[0])
	require.ErrorContains(t, err, "have just changed")
	r := &recovery{point: dir, dead: dead}
	require.Error(t, r.takeAway(dead[0], func(error) {}))
	left, err := mountsOn(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)

	// Nor is a mount that has got the number of one that is gone.
	for name, gone := range map[string]mountinfo.Info{
		"at another place":  {ID: left[1].ID, Mountpoint: dir + "/x", Major: left[1].Major, Minor: left[1].Minor},
		"of another device": {ID: left[1].ID, Mountpoint: dir, Major: left[1].Major, Minor: left[1].Minor + 1},
	} {
		r := &recovery{point: gone.Mountpoint, dead: []*mountinfo.Info{&gone}}
		require.ErrorContains(t, r.takeAway(&gone, func(error) {}), "has just gone", name)
	}
	after, err := mountsOn(dir)
	require.NoError(t, err)
	require.Equal(t, left, after)
}

func TestNothingOfOthersGoesWithADeadMount(t *testing.T) {
	table := mountTable{
		{ID: 1, Mountpoint: "/"},
		{ID: 3, Parent: 1, Mountpoint: "/srv", FSType: fsType},
		{ID: 4, Parent: 3, Mountpoint: "/srv", FSType: fsType},
		{ID: 5, Parent: 4, Mountpoint: "/srv/in", FSType: "tmpfs"},
	}
	r := recovery{point: "/srv", dead: table.stackAt("/srv")}
	require.ErrorContains(t, r.unencumbered(table), "/srv/in")
	require.NoError(t, r.unencumbered(table[:3]))
}
