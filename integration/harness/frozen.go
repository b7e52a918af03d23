package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Frozen is a backing file system of its own that can be made to hang: whatever writes
// to it then waits in the kernel, as on a disk that does not answer.
type Frozen struct {
	t   *testing.T
	m   *Mount
	dir string
	on  bool
}

// FIFREEZE and FITHAW of linux/fs.h; x/sys/unix has no names for them.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// NewFreezable mounts over a file system of its own; the lease records are elsewhere.
func NewFreezable(t *testing.T, o MountOptions) (*Mount, *Frozen) {
	t.Helper()
	m, disk := PrepareFreezable(t, o)
	m.Mount()
	return m, disk
}

// PrepareFreezable is NewFreezable short of the mount itself.
func PrepareFreezable(t *testing.T, o MountOptions) (*Mount, *Frozen) {
	t.Helper()
	return PrepareFreezableOf(t, o, 16<<20)
}

// PrepareFreezableOf is PrepareFreezable with a disk of a size in bytes.
func PrepareFreezableOf(t *testing.T, o MountOptions, size int64) (*Mount, *Frozen) {
	t.Helper()
	NotInContainer(t, "loop devices: these are its host's")
	disk := &Frozen{t: t, dir: NewBase(t)}
	image := filepath.Join(NewBase(t), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, size))
	for _, c := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, disk.dir}} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		require.NoError(t, err, "%v %s", c, out)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk.dir, 0)) })
	m := PrepareMount(t, o)
	m.Source = filepath.Join(disk.dir, "source")
	require.NoError(t, os.Mkdir(m.Source, 0o755))
	m.View = m.Source
	disk.m = m
	t.Cleanup(disk.Thaw) // before the unmount, whatever the test came to
	return m, disk
}

func (f *Frozen) ioctl(request uint) {
	f.t.Helper()
	fd, err := unix.Open(f.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(f.t, err)
	defer unix.Close(fd) //nolint:errcheck // only asked
	require.NoError(f.t, unix.IoctlSetInt(fd, request, 0))
}

// Freeze makes the disk hang. After a test that failed it continues before anything that came before is waited for.
func (f *Frozen) Freeze() { f.t.Helper(); f.ioctl(fiFreeze); f.on = true; f.t.Cleanup(f.Thaw) }

// Thaw lets the disk continue. It may be called twice.
func (f *Frozen) Thaw() {
	f.t.Helper()
	if f.on {
		f.on = false
		f.ioctl(fiThaw)
	}
}

// Hang lets an actor begin what will not end before the thaw, and waits until it is in
// the daemon. The channel has its outcome.
func (f *Frozen) Hang(a *Actor, c Command) <-chan Reply {
	f.t.Helper()
	done := a.Begin(c)
	Eventually(f.t, a.Name+" waits for the disk", func() bool { return f.m.InFlight() > 0 })
	return done
}
