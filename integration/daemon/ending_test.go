package daemon

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A release that drains for longer than any other answer may take waits for it, and says
// what became of it.
func TestAReleaseWaitsForTheWriteInFlight(t *testing.T) {
	m, disk := harness.PrepareFreezableOf(t, harness.MountOptions{OnFree: "deny"}, 64<<20)
	m.Mount()
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})
	cmd := exec.Command(m.Bin, "lock", "release", "--pid", harness.PIDOf(a), m.Mountpoint)
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
	disk.Thaw()
	require.Empty(t, (<-written).Errno)
	require.NoError(t, <-ended, said.String())
	require.Contains(t, said.String(), "released "+m.Mountpoint)
	a.OK(harness.Command{Op: "close", Handle: "f"})
}

// Several recover one mount at once: whoever is not the first finds it done.
func TestOfSeveralRecoveriesAtOnceOneRecovers(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	for range harness.Rounds(10) {
		m.KillDaemon()
		type outcome struct {
			err  error
			said string
		}
		ended := make(chan outcome, 4)
		for range cap(ended) {
			go func() {
				out, err := exec.Command(m.Bin, "recover").CombinedOutput()
				ended <- outcome{err, string(out)}
			}()
		}
		for range cap(ended) {
			o := <-ended
			require.NoError(t, o.err, o.said)
		}
		m.Dead = false
	}
}

// After a signal to end, a busy mount serves for another moment. A process that leaves it in that time loses
// nothing, and the mount ends in peace.
func TestABusyMountServesForAMomentAfterTERM(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	pid := m.Daemons()[0]
	require.NoError(t, unix.Kill(pid, unix.SIGTERM))
	harness.Eventually(t, "it says who keeps it", func() bool { return strings.Contains(m.LogTail(), "keep "+m.Mountpoint+" busy") })
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("finished")})
	a.OK(harness.Command{Op: "close", Handle: "f"})
	harness.Eventually(t, "the mount has gone", func() bool { return harness.TopType(t, m.Mountpoint) != "fuse.jvsfs" && len(m.Daemons()) == 0 })
	m.Mounted = false
	require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind("f")), "finished"))
	_, r := m.HeadClaim("")
	require.True(t, r.Released)
}
