package daemon

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A file system that is mounted inside of the source is no part of the mount. mount says so, in place and at a
// place of its own, and so does doctor later.
func TestMountsInsideTheSourceAreNamed(t *testing.T) {
	for name, inPlace := range map[string]bool{"in place": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", InPlace: inPlace, Prepare: harness.WithDir("disk")})
			disk := filepath.Join(m.Source, "disk")
			require.NoError(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
			at := harness.BindView(t, m.Source, filepath.Join(m.Base, "way in"), 0)
			t.Cleanup(func() { m.Unmount(); require.NoError(t, unix.Unmount(disk, 0)) })
			require.NoError(t, os.WriteFile(filepath.Join(disk, "f"), nil, 0o644))
			args := []string{"mount", m.Source, "--control", m.LockDir, "--log-file", m.LogFile(), "--json"}
			if !inPlace {
				args = append(args, m.Mountpoint)
			}
			m.Mounted, m.WasMounted = true, true
			out, errs, exit := m.CLI(args...)
			require.Zero(t, exit, errs)
			require.Contains(t, errs, disk+" (tmpfs)")
			require.Contains(t, errs, "not part of the mount")
			var said struct{ Hidden []string }
			require.NoError(t, json.Unmarshal([]byte(out), &said))
			require.Equal(t, []string{disk}, said.Hidden)
			require.NoFileExists(t, m.At("disk", "f"))
			require.NoFileExists(t, filepath.Join(at, "disk", "f"))
			m.RequireFinding("mounts.hidden", disk+" (tmpfs)", "umount "+m.Mountpoint)
		})
	}
}

// Mounted through the mount it is seen, and nothing is said. What ends it is named whole, however long its path is.
func TestMountsThroughTheMountAreNotNamed(t *testing.T) {
	disk := strings.Repeat("disk", 30)
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", InPlace: true, Prepare: harness.WithDir(disk)})
	require.NoError(t, unix.Mount("tmpfs", m.At(disk), "tmpfs", 0, "size=64k"))
	m.RequireNoFinding("mounts.hidden", m.Mountpoint)
	_, said, exit := m.CLI("umount", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, "umount "+m.At(disk), "it keeps the mount busy, and that is said")
	require.NoError(t, unix.Unmount(m.At(disk), 0))
}

// No process has the file of a loop device open: it is named all the same, with what ends it.
func TestUmountNamesALoopDevice(t *testing.T) {
	harness.NotInContainer(t, "loop devices: these are its host's")
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f")})
	require.NoError(t, os.WriteFile(m.At("image"), nil, 0o600))
	require.NoError(t, os.Truncate(m.At("image"), 1<<20))
	out, err := exec.Command("losetup", "--find", "--show", m.At("image")).Output()
	require.NoError(t, err)
	loop := strings.TrimSpace(string(out))
	detached := false
	detach := func() {
		if !detached {
			detached = true
			require.NoError(t, exec.Command("losetup", "-d", loop).Run())
		}
	}
	t.Cleanup(detach)
	_, said, exit := m.CLI("umount", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, "loop device "+loop)
	require.Contains(t, said, m.At("image"))
	require.Contains(t, said, "losetup -d "+loop)
	detach()
	m.Unmount()
}

// Neither is a socket a file that a process has open.
func TestUmountNamesWhoListensOnASocket(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: harness.WithFiles("f")})
	l, err := net.Listen("unix", m.At("socket"))
	require.NoError(t, err)
	_, said, exit := m.CLI("umount", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, m.At("socket"))
	require.NoError(t, l.Close())
}
