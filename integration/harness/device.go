package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spareDevices are more than what all that runs beside a story mounts at a time.
const spareDevices = 64

// KeepsItsDevice runs mount so that nobody else gets the device number of what it mounts soon after its end. The kernel
// gives a new mount the lowest number that is free, in all namespaces alike (get_anon_bdev in fs/super.c), and other
// packages' stories mount at the same time. So as many lower numbers are in use meanwhile, and free afterwards.
func KeepsItsDevice(t testing.TB, mount func() *Mount) *Mount {
	t.Helper()
	dir := t.TempDir()
	for n := range spareDevices {
		at := filepath.Join(dir, strconv.Itoa(n))
		require.NoError(t, os.Mkdir(at, 0o700))
		require.NoError(t, unix.Mount("tmpfs", at, "tmpfs", 0, "size=4k"))
		defer func() { require.NoError(t, unix.Unmount(at, 0)) }()
	}
	return mount()
}
