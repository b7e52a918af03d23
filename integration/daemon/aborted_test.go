package daemon

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A connection that was aborted, as umount -f does on a busy mount, leaves a dead mount and
// not an ended one: it is recovered like any other.
func TestAbortedMountIsRecovered(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	daemons := m.Daemons()
	m.Abort()
	gone(m, "the daemon ends", daemons)
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	a.Fails(m.Put("f"), "ENOTCONN", "ECONNABORTED")
	require.Contains(t, m.LogTail(), "was aborted")
	m.Recover()
	a.Fails(m.Put("f"), "EROFS") // the lease was given back in peace
	m.Acquire(a)
	a.OK(m.Put("f"))
}

// A daemon that panics ends by a signal: its exit status must not be that of a wrong command
// line, after which no unit starts it again.
func TestADaemonThatPanicsDoesNotEndWithTheUsageExitCode(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	cmd := exec.Command(m.Bin, "mount", "--foreground", "--control", m.LockDir, m.Source, m.Mountpoint)
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	require.NoError(t, cmd.Start())
	m.Mounted = true
	harness.Eventually(t, "it serves", func() bool { return harness.TopType(t, m.Mountpoint) == "fuse.jvsfs" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT)) // the runtime's own end, as of a panic
	require.Error(t, cmd.Wait())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled(), "exit status %d: %s", status.ExitStatus(), said.String())
	require.Equal(t, syscall.SIGABRT, status.Signal())
	m.Recover()
}
