package integration

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A release that drains for longer than any other answer may take waits for it, and says
// what became of it.
func TestAReleaseWaitsForWhatIsInFlight(t *testing.T) {
	m, disk := prepareFreezableOf(t, mountOptions{onFree: "deny"}, 64<<20)
	m.mount()
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.freeze()
	written := disk.hang(a, command{Op: "write", Handle: "f", Data: []byte("slow")})
	cmd := exec.Command(m.bin, "lock", "release", "--pid", pidOf(a), m.Mountpoint)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("it did not wait: %v %s", err, said.String())
	case <-time.After(11 * time.Second): // longer than a daemon may take that need not wait
	}
	disk.thaw()
	require.Empty(t, (<-written).Errno)
	require.NoError(t, <-ended, said.String())
	require.Contains(t, said.String(), "released "+m.Mountpoint)
	a.ok(command{Op: "close", Handle: "f"})
}

// Several recover one mount at once: whoever is not the first finds it done.
func TestRecoveriesMeet(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	for range rounds(10) {
		m.killDaemon()
		type outcome struct {
			err  error
			said string
		}
		ended := make(chan outcome, 4)
		for range cap(ended) {
			go func() {
				out, err := exec.Command(m.bin, "recover").CombinedOutput()
				ended <- outcome{err, string(out)}
			}()
		}
		for range cap(ended) {
			o := <-ended
			require.NoError(t, o.err, o.said)
		}
		m.dead = false
	}
}

// Told to end while it is busy, a mount goes on serving for a moment. Who leaves it in that
// time has lost nothing, and the mount goes in peace.
func TestTermLetsWhoIsThereFinish(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	pid := m.daemons()[0]
	require.NoError(t, unix.Kill(pid, unix.SIGTERM))
	eventually(t, "it says who keeps it", func() bool { return strings.Contains(m.logTail(), "keep "+m.Mountpoint+" busy") })
	a.ok(command{Op: "write", Handle: "f", Data: []byte("finished")})
	a.ok(command{Op: "close", Handle: "f"})
	eventually(t, "the mount has gone", func() bool { return topType(t, m.Mountpoint) != "fuse.jvsfs" && len(m.daemons()) == 0 })
	m.mounted = false
	require.True(t, strings.HasPrefix(readText(t, m.Behind("f")), "finished"))
	_, r := m.headClaim("")
	require.True(t, r.Released)
}
