package fence

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The holder here is the test's own process: it must be able to map a file of the
// mount, which the actor's operations do not do through O_APPEND.
func holdHere(t *testing.T, m *harness.Mount) {
	t.Helper()
	m.MustCLI("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint)
	t.Cleanup(func() { m.MustCLI("lock", "release", "--pid", strconv.Itoa(os.Getpid()), m.Mountpoint) })
}

// A store through a mapping has its place, whatever the flags of the file.
func TestAStoreThroughAnAppendHandleLandsAtItsPlace(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	holdHere(t, m)
	fd, err := unix.Open(m.At("f"), unix.O_RDWR|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o644)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Ftruncate(fd, 8192))
	page, err := unix.Mmap(fd, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	copy(page, "HELLO")
	require.NoError(t, unix.Msync(page, unix.MS_SYNC))
	require.NoError(t, unix.Munmap(page))
	got, err := os.ReadFile(m.Behind("f"))
	require.NoError(t, err)
	require.Len(t, got, 8192)
	require.Equal(t, "HELLO", string(got[:5]))

	// fcntl takes the flag away and gives it back.
	_, err = unix.Write(fd, []byte("end"))
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0)
	require.NoError(t, err)
	_, err = unix.Pwrite(fd, []byte("AB"), 0)
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_APPEND)
	require.NoError(t, err)
	got, err = os.ReadFile(m.Behind("f"))
	require.NoError(t, err)
	require.Equal(t, "ABLLO", string(got[:5]))
	require.Equal(t, "end", string(got[8192:]))
}

// An append of whatever size overwrites nothing of what was appended behind the mount, where the kernel does not know of it.
func TestAnAppendOverwritesNothingThatWasAppendedBehindTheMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	holdHere(t, m)
	behind, err := os.OpenFile(m.Behind("f"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer behind.Close()
	f, err := os.OpenFile(m.At("f"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	want, err := os.ReadFile(m.Behind("f"))
	require.NoError(t, err)
	for i, size := range []int{1, 100, 4095, 4096, 5000, 128 << 10, 1 << 20, 3<<20 + 17} {
		for _, to := range []*os.File{behind, f} {
			part := bytes.Repeat([]byte{byte('A' + i)}, size)
			if to == behind {
				part = fmt.Appendf(nil, "behind %d", size)
			}
			want = append(want, part...)
			_, err := to.Write(part)
			require.NoError(t, err)
		}
	}
	got, err := os.ReadFile(m.Behind("f"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%d bytes where %d were written", len(got), len(want))
}

// A lock directory below the source is out of reach, and so is the way to it.
func TestControlBelowTheSourceIsSealed(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	require.NoError(t, os.MkdirAll(m.Source+"/adm/ctl", 0o755))
	m.LockDir = m.Source + "/adm/ctl"
	m.Mount()
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	for _, c := range []harness.Command{
		{Op: "rename", Path: m.At("adm/ctl"), To: m.At("adm/old")},
		{Op: "rename", Path: m.At("adm"), To: m.At("old")},
		m.Put("adm/ctl/x"),
	} {
		a.Fails(c, "EROFS")
	}
	a.OK(m.Put("adm/x"))
	m.Release(a)
}
