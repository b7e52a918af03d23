package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// frozen is a backing file system of its own that can be made to hang: whatever writes
// to it then waits in the kernel, as on a disk that does not answer.
type frozen struct {
	t   *testing.T
	m   *mount
	dir string
	on  bool
}

// FIFREEZE and FITHAW of linux/fs.h; x/sys/unix has no names for them.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// newFreezable mounts over a file system of its own; the lease records are elsewhere.
func newFreezable(t *testing.T, o mountOptions) (*mount, *frozen) {
	t.Helper()
	m, disk := prepareFreezable(t, o)
	m.mount()
	return m, disk
}

// prepareFreezable is newFreezable short of the mount itself.
func prepareFreezable(t *testing.T, o mountOptions) (*mount, *frozen) {
	t.Helper()
	return prepareFreezableOf(t, o, 16<<20)
}

// prepareFreezableOf is prepareFreezable with a disk of a size in bytes.
func prepareFreezableOf(t *testing.T, o mountOptions, size int64) (*mount, *frozen) {
	t.Helper()
	requireFuse(t)
	disk := &frozen{t: t, dir: newBase(t)}
	image := filepath.Join(newBase(t), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, size))
	for _, c := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, disk.dir}} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		require.NoError(t, err, "%v %s", c, out)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk.dir, 0)) })
	m := prepareMount(t, o)
	m.Source = filepath.Join(disk.dir, "source")
	require.NoError(t, os.Mkdir(m.Source, 0o755))
	m.View = m.Source
	disk.m = m
	t.Cleanup(disk.thaw) // before the unmount, whatever the test came to
	return m, disk
}

func (f *frozen) ioctl(request uint) {
	f.t.Helper()
	fd, err := unix.Open(f.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(f.t, err)
	defer unix.Close(fd)
	require.NoError(f.t, unix.IoctlSetInt(fd, request, 0))
}

func (f *frozen) freeze() { f.t.Helper(); f.ioctl(fiFreeze); f.on = true }

func (f *frozen) thaw() {
	f.t.Helper()
	if f.on {
		f.on = false
		f.ioctl(fiThaw)
	}
}

// hang lets an actor begin what will not end before the thaw, and waits until it is in
// the daemon. The channel has its outcome.
func (f *frozen) hang(a *actor, c command) <-chan reply {
	f.t.Helper()
	done := a.begin(c)
	eventually(f.t, a.name+" waits for the disk", func() bool { return f.m.inFlight() > 0 })
	return done
}

// inFlight counts what the daemon is in the middle of.
func (m *mount) inFlight() (n int64) {
	m.t.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Unguarded  int64 `json:"unguarded_in_flight"`
			Worktrees  []struct {
				InFlight int64 `json:"in_flight"`
			}
		}
	}
	requireJSON(m.t, m.cliOK("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint != m.Mountpoint {
			continue
		}
		n += one.Unguarded
		for _, w := range one.Worktrees {
			n += w.InFlight
		}
	}
	return n
}
