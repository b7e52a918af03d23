package daemon

import (
	"bytes"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A daemon that is killed while the kernel writes a mapping back for it must end, and
// let everybody go who waits in its mount: nobody is left to answer them.
func TestAKilledDaemonLeavesNoCallerWaiting(t *testing.T) {
	for i := range 5 {
		t.Run(strconv.Itoa(i), killWhileWritingBack)
	}
}

func killWhileWritingBack(t *testing.T) {
	const size = 8 << 20
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "ftruncate", Handle: "f", Len: size})
	a.OK(harness.Command{Op: "mmap", Name: "map", Handle: "f", Len: size})
	a.OK(harness.Command{Op: "store", Name: "map", Data: bytes.Repeat([]byte("dirty"), size/5)})
	requests := m.Requests("Write")
	release := exec.Command(m.Bin, harness.LockArgs("release", a, m.At())...)
	require.NoError(t, release.Start())
	harness.Eventually(t, "the mapping is being written back", func() bool { return m.Requests("Write") > requests })
	m.KillDaemon()
	_ = release.Wait() // its daemon has gone
	a.Do(harness.Command{Op: "msync", Name: "map"})
	a.Fails(harness.Command{Op: "readfile", Path: m.At("f")}, "ENOTCONN")
	a.Do(harness.Command{Op: "munmap", Name: "map"})
	a.Do(harness.Command{Op: "close", Handle: "f"})
}
