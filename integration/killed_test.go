package integration

import (
	"bytes"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A daemon that is killed while the kernel writes a mapping back for it must end, and
// let everybody go who waits in its mount: nobody is left to answer them.
func TestKilledDaemonLetsEverybodyGo(t *testing.T) {
	for i := range 5 {
		t.Run(strconv.Itoa(i), killWhileWritingBack)
	}
}

func killWhileWritingBack(t *testing.T) {
	const size = 8 << 20
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	a.ok(command{Op: "ftruncate", Handle: "f", Len: size})
	a.ok(command{Op: "mmap", Name: "map", Handle: "f", Len: size})
	a.ok(command{Op: "store", Name: "map", Data: bytes.Repeat([]byte("dirty"), size/5)})
	requests := m.requests("Write")
	release := exec.Command(m.bin, lockArgs("release", a, m.At())...)
	require.NoError(t, release.Start())
	eventually(t, "the mapping is being written back", func() bool { return m.requests("Write") > requests })
	m.killDaemon()
	_ = release.Wait() // its daemon has gone
	a.do(command{Op: "msync", Name: "map"})
	a.fails(command{Op: "readfile", Path: m.At("f")}, "ENOTCONN")
	a.do(command{Op: "munmap", Name: "map"})
	a.do(command{Op: "close", Handle: "f"})
}
