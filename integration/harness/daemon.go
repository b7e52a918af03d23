package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Abort cuts the mount's connection. In a container nobody has mounted fusectl.
func (m *Mount) Abort() {
	m.T.Helper()
	var st unix.Stat_t
	require.NoError(m.T, unix.Stat(m.Mountpoint, &st))
	ctl := filepath.Join(m.Base, "fusectl")
	require.NoError(m.T, os.Mkdir(ctl, 0o755))
	require.NoError(m.T, unix.Mount("none", ctl, "fusectl", 0, ""))
	err := os.WriteFile(fmt.Sprintf("%s/%d/abort", ctl, unix.Minor(st.Dev)), []byte("1"), 0)
	require.NoError(m.T, unix.Unmount(ctl, 0))
	require.NoError(m.T, err)
}

// Daemons are the living processes of our binary.
func (m *Mount) Daemons() []int {
	return slices.DeleteFunc(ProcessesOf(m.Bin), func(pid int) bool { return !isDaemon(pid) })
}

// isDaemon tells a daemon from its guardian and from commands.
func isDaemon(pid int) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(args[bytes.IndexByte(args, 0)+1:], []byte("mount\x00"))
}

// ProcessesOf are the processes that run a binary.
func ProcessesOf(bin string) []int {
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	var pids []int
	for _, exe := range exes {
		if target, err := os.Readlink(exe); err == nil && target == bin {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillDaemon ends the daemon of this mount, and waits until it is gone.
func (m *Mount) KillDaemon() {
	m.T.Helper()
	m.EndDaemon(unix.SIGKILL)
}

// EndDaemon sends the daemon a signal, and waits until it is gone.
func (m *Mount) EndDaemon(signal unix.Signal) {
	m.T.Helper()
	m.EndDaemonOnce(signal, func() {})
}

// EndDaemonOnce is EndDaemon for a daemon that cannot end before free has run: its threads wait for a disk.
func (m *Mount) EndDaemonOnce(signal unix.Signal, free func()) {
	m.T.Helper()
	pids := m.Daemons()
	require.NotEmpty(m.T, pids)
	m.Dead = true
	endAll(m.T, pids, signal, free)
}

// endAll sends processes a signal, does what lets them end, and waits until all of their threads have. Only then their
// descriptors are closed: the first thread is a zombie before, and a mount still takes requests.
func endAll(t testing.TB, pids []int, signal unix.Signal, free func()) {
	t.Helper()
	living := make([]unix.PollFd, 0, len(pids))
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		defer unix.Close(fd) //nolint:errcheck // it was read by nobody
		living = append(living, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		require.NoError(t, unix.PidfdSendSignal(fd, signal, nil, 0))
	}
	free()
	Eventually(t, "the daemon is gone", func() bool {
		_, err := unix.Poll(living, 10)
		return err == nil && !slices.ContainsFunc(living, func(p unix.PollFd) bool { return p.Revents == 0 })
	})
}

// Recover runs jvsfs recover at the mount point, which must serve afterwards.
func (m *Mount) Recover() {
	m.T.Helper()
	m.MustCLI("recover", m.Mountpoint)
	m.Dead = false
}

// Rounds is n; with the race detector, under which a process takes a second to end, a fifth.
func Rounds(n int) int {
	if os.Getenv("JVSFS_RACE") == "1" {
		return n/5 + 1
	}
	return n
}
