package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A connection that was aborted, as umount -f does on a busy mount, leaves a dead mount and
// not an ended one: it is recovered like any other.
func TestAbortedMountIsRecovered(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	m.acquire(a)
	daemons := m.daemons()
	m.abort()
	m.gone("the daemon ends", daemons)
	require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint))
	a.fails(m.put("f"), "ENOTCONN", "ECONNABORTED")
	require.Contains(t, m.logTail(), "was aborted")
	m.recover()
	a.fails(m.put("f"), "EROFS") // the lease was given back in peace
	m.acquire(a)
	a.ok(m.put("f"))
}

// abort cuts the mount's connection. In a container nobody has mounted fusectl.
func (m *mount) abort() {
	m.t.Helper()
	var st unix.Stat_t
	require.NoError(m.t, unix.Stat(m.Mountpoint, &st))
	ctl := filepath.Join(m.base, "fusectl")
	require.NoError(m.t, os.Mkdir(ctl, 0o755))
	require.NoError(m.t, unix.Mount("none", ctl, "fusectl", 0, ""))
	err := os.WriteFile(fmt.Sprintf("%s/%d/abort", ctl, unix.Minor(st.Dev)), []byte("1"), 0)
	require.NoError(m.t, unix.Unmount(ctl, 0))
	require.NoError(m.t, err)
}

// A daemon that panics ends by a signal: its exit status must not be that of a wrong command
// line, after which no unit starts it again.
func TestAPanicIsNoUsageError(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	cmd := exec.Command(m.bin, "mount", "--foreground", "--control", m.LockDir, m.Source, m.Mountpoint)
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	require.NoError(t, cmd.Start())
	m.mounted = true
	eventually(t, "it serves", func() bool { return topType(t, m.Mountpoint) == "fuse.jvsfs" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT)) // the runtime's own end, as of a panic
	require.Error(t, cmd.Wait())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled(), "exit status %d: %s", status.ExitStatus(), said.String())
	require.Equal(t, syscall.SIGABRT, status.Signal())
	m.recover()
}
