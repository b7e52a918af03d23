package fidelity

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// onSmallDisk mounts over a file system of its own, a quarter of which is kept for
// the superuser.
func onSmallDisk(t *testing.T) *harness.Mount {
	t.Helper()
	harness.NotInContainer(t, "loop devices: these are its host's")
	disk := harness.NewBase(t)
	image := filepath.Join(harness.NewBase(t), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 32<<20))
	for _, c := range [][]string{{"mkfs.ext4", "-q", "-m", "25", image}, {"mount", "-o", "loop", image, disk}} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		require.NoError(t, err, "%v %s", c, out)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "allow"})
	m.Source = filepath.Join(disk, "source")
	require.NoError(t, os.Mkdir(m.Source, 0o755))
	require.NoError(t, unix.Chmod(m.Source, 0o777))
	m.Mount()
	return m
}

// TestReserveIsForTheSuperuser: what a file system keeps back for root, and so any
// quota of users, is as much out of a user's reach through the mount as natively,
// however the user asks for room.
func TestReserveIsForTheSuperuser(t *testing.T) {
	m := onSmallDisk(t)
	a := harness.StartActorAs(t, "user", harness.User)
	for _, ask := range []harness.Command{
		{Op: "write", Handle: "f", Data: make([]byte, 31<<20)},
		{Op: "fallocate", Handle: "f", Len: 29 << 20},
	} {
		t.Run(ask.Op, func(t *testing.T) {
			a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
			a.Do(ask) // natively a write is cut short, and an allocation refused
			require.False(t, reserveIsTouched(t, m.Source))
			a.OK(harness.Command{Op: "close", Handle: "f"})
			a.OK(harness.Command{Op: "unlink", Path: m.At("f")})
			harness.Eventually(t, "the room is given back", func() bool { return roomOf(t, m.Source).Bavail > 1000 })
		})
	}
}

// What is stored through a mapping takes room when the kernel writes it back, in nobody's
// name.
func TestReserveIsOutOfReachOfMappings(t *testing.T) {
	m := onSmallDisk(t)
	a := harness.StartActorAs(t, "user", harness.User)
	const size = 31 << 20
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	a.OK(harness.Command{Op: "ftruncate", Handle: "f", Len: size})
	a.OK(harness.Command{Op: "mmap", Handle: "f", Name: "m", Len: size})
	a.OK(harness.Command{Op: "store", Name: "m", Data: make([]byte, size)})
	require.NotEmpty(t, a.Do(harness.Command{Op: "msync", Name: "m"}).Errno)
	require.False(t, reserveIsTouched(t, m.Source))
	a.Do(harness.Command{Op: "munmap", Name: "m"})
	a.Do(harness.Command{Op: "close", Handle: "f"})
}

func roomOf(t *testing.T, dir string) (st unix.Statfs_t) {
	t.Helper()
	require.NoError(t, unix.Statfs(dir, &st))
	return st
}

func reserveIsTouched(t *testing.T, dir string) bool {
	t.Helper()
	st := roomOf(t, dir)
	return st.Bfree < st.Blocks/5
}
