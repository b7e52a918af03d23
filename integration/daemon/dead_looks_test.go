package daemon

import (
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A descriptor that only names the root of a dead mount, as every command has that asks whether the mount is dead, keeps the mount busy.
// The unmount waits for its end. It waits for no descriptor that could have been written by.
func TestAnUnmountOfADeadMountWaitsForLooks(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "open", Handle: "file", Path: m.At("f"), Flags: unix.O_RDONLY})
	m.KillDaemon()
	a.OK(harness.Command{Op: "open", Handle: "look", Path: m.Mountpoint, Flags: unix.O_PATH})
	_, said, exit := m.CLI("umount", "--bare", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, harness.PIDOf(a))
	require.NotContains(t, said, "waiting until none does")

	a.OK(harness.Command{Op: "close", Handle: "file"})
	waiting := func() *harness.Background {
		unmount := m.Start(m.Bin, "umount", "--bare", m.Mountpoint)
		harness.Eventually(t, "it waits", func() bool { return strings.Contains(harness.ReadText(t, unmount.File), "waiting until none does") })
		return unmount
	}
	interrupted := waiting()
	require.NoError(t, unix.Kill(interrupted.PID(), unix.SIGINT))
	exit, said = interrupted.Wait()
	require.NotZero(t, exit, said)
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), "Ctrl-C changes nothing")

	unmount := waiting()
	a.OK(harness.Command{Op: "close", Handle: "look"})
	exit, said = unmount.Wait()
	require.Zero(t, exit, said)
	m.Mounted = false
}

// Loops that try again and again to write below a dead mount do not keep it busy.
func TestADeadMountIsUnmountedDespiteWritersThatRetry(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Repository: true})
	m.KillDaemon()
	var over atomic.Bool
	ended := make(chan struct{})
	const loops = 6
	for range loops {
		go func() {
			defer func() { ended <- struct{}{} }()
			for !over.Load() {
				_ = exec.Command(m.Bin, "exec", "--wait", "1s", m.At("main"), "--", "true").Run()
			}
		}()
	}
	_, said, exit := m.CLI("umount", "--bare", m.Mountpoint)
	over.Store(true)
	for range loops {
		<-ended
	}
	require.Zero(t, exit, said)
	m.Mounted = false
}

// Nobody keeps a dead mount by looking at it without an end.
func TestADeadMountIsUnmountedDespiteAnOpenPathDescriptor(t *testing.T) {
	m := harness.KeepsItsDevice(t, func() *harness.Mount {
		return harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	})
	state := stateFile(m)
	a := harness.StartActor(t, "a")
	m.KillDaemon()
	a.OK(harness.Command{Op: "open", Handle: "look", Path: m.Mountpoint, Flags: unix.O_PATH})
	_, said, exit := m.CLI("umount", "--bare", m.Mountpoint)
	require.Zero(t, exit, said)
	require.Contains(t, said, "is taken away from under those who look at it")
	require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	m.Mounted = false

	require.FileExists(t, state, "the mount is not gone")
	a.OK(harness.Command{Op: "close", Handle: "look"})
	all, _, _ := m.Doctor("--repair")
	require.NotEmpty(t, all.Of("repair.done", state))
}
