package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spareDevices are more than what all that runs beside a story mounts in its time: dozens of other stories, some of several hosts.
const spareDevices = 256

// KeepsItsDevice runs mount so that nobody else gets the device number of what it mounts soon after its end. The kernel
// gives a new mount the lowest number that is free, in all namespaces alike (get_anon_bdev in fs/super.c), and other
// packages' stories mount at the same time. So many lower numbers are in use meanwhile, and free afterwards. Somebody may
// free a low number right before the mount, which then has that one, and is mounted anew.
func KeepsItsDevice(t testing.TB, mount func() *Mount) *Mount {
	t.Helper()
	for range 10 {
		m, lower := mountAboveOthers(t, mount)
		if lower >= spareDevices/2 {
			return m
		}
		m.Unmount()
	}
	t.Fatal("each mount gets a number that is soon somebody else's")
	return nil
}

// mountAboveOthers runs mount while many numbers are in use. lower is how many of these are lower than the mount's.
func mountAboveOthers(t testing.TB, mount func() *Mount) (m *Mount, lower int) {
	t.Helper()
	dir := t.TempDir()
	var spare []uint32
	for n := range spareDevices {
		at := filepath.Join(dir, strconv.Itoa(n))
		require.NoError(t, os.Mkdir(at, 0o700))
		require.NoError(t, unix.Mount("tmpfs", at, "tmpfs", 0, "size=4k"))
		defer func() { require.NoError(t, unix.Unmount(at, 0)) }()
		spare = append(spare, minorOf(t, at))
	}
	m = mount()
	own := minorOf(t, m.Mountpoint)
	for _, n := range spare {
		if n < own {
			lower++
		}
	}
	return m, lower
}

func minorOf(t testing.TB, path string) uint32 {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	return unix.Minor(st.Dev)
}
