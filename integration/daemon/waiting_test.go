package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// waitingWriters is more than a daemon has threads for mutations.
const waitingWriters = 400

// withDirs makes directories d0, d1, ... with a file each: whoever makes something in a
// directory has it locked in the kernel, so each writer has its own.
func withDirs(t testing.TB, worktree string, n int) {
	t.Helper()
	for i := range n {
		dir := filepath.Join(worktree, fmt.Sprintf("d%d", i))
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), harness.Body(), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "read"), harness.Body(), 0o644))
	}
}

// openEach opens each writer's file (withDirs).
func openEach(m *harness.Mount) (fds []int) {
	m.T.Helper()
	for i := range waitingWriters {
		fd, err := unix.Open(m.At(fmt.Sprintf("d%d", i), "f"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		require.NoError(m.T, err)
		fds = append(fds, fd)
	}
	return fds
}

// within fails unless the call ends in time. Everything else continues meanwhile.
func within(t *testing.T, what string, done <-chan harness.Reply) {
	t.Helper()
	select {
	case r := <-done:
		require.Empty(t, r.Errno, what)
	case <-time.After(harness.Patience):
		t.Fatal("it waits: " + what)
	}
}

// onAnotherDisk mounts another directory, on another disk, with a daemon of its own.
func onAnotherDisk(m *harness.Mount) *harness.Mount {
	m.T.Helper()
	n := *m
	n.Source, n.Mountpoint, n.LockDir = filepath.Join(m.Base, "other"), filepath.Join(m.Base, "mnt3"), filepath.Join(m.Base, "control3")
	require.NoError(m.T, os.Mkdir(n.Source, 0o755))
	require.NoError(m.T, os.Mkdir(n.Mountpoint, 0o755))
	n.Mounted = false
	n.Mount()
	m.T.Cleanup(n.Unmount)
	return &n
}

// expectServed reads what the kernel has never asked for, and has the daemon and a second
// mount answer, while others wait.
func expectServed(m *harness.Mount, dirs int) {
	m.T.Helper()
	reader := harness.StartActor(m.T, "reader")
	for i := range dirs {
		dir := fmt.Sprintf("d%d", i)
		within(m.T, "read "+dir, reader.Begin(harness.Command{Op: "readfile", Path: m.At(dir, "read")}))
		within(m.T, "list "+dir, reader.Begin(harness.Command{Op: "readdir", Path: m.At(dir)}))
	}
	require.Contains(m.T, m.MustCLI("status"), "serving")
	m.MustCLI("explain", m.At("d0", "f"))
}

// Four hundred writers wait for a disk that does not answer. Everybody else goes on: who
// reads, lists, opens, asks, renews, unmounts. When the disk answers they all succeed.
func TestWritersThatWaitForTheDiskDelayNobodyElse(t *testing.T) {
	m, disk := harness.PrepareFreezableOf(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty}, 64<<20)
	withDirs(t, m.Source, waitingWriters)
	m.Mount()
	holder := harness.StartActor(t, "holder")
	m.MustCLI("lock", "acquire", "--scope", "mount", "--pid", harness.PIDOf(holder), m.Mountpoint)
	before := m.WorktreeStatus("source")
	n := onAnotherDisk(m)
	fds := openEach(m)
	disk.Freeze()
	ended := make(chan error, waitingWriters)
	var under atomic.Int64
	for _, fd := range fds {
		go func() {
			under.Add(1)
			_, err := unix.Pwrite(fd, []byte("waits"), 0)
			ended <- err
		}()
	}
	harness.Eventually(t, "they wait", func() bool { return under.Load() == waitingWriters && m.InFlight() >= 200 })
	expectServed(m, 40)
	_, waiting := m.HeadClaim("")
	harness.Eventually(t, "the lease is renewed for longer than it lasts", func() bool {
		_, r := m.HeadClaim("")
		return r.RenewedAt.Sub(waiting.RenewedAt) > 2*harness.Hasty.Lease
	})
	now := m.WorktreeStatus("source")
	require.Equal(t, "held", now.State)
	require.Equal(t, before.Token, now.Token, "the lease was renewed all the while")
	require.Empty(t, ended)
	n.Unmount()
	disk.Thaw()
	for range fds {
		require.NoError(t, <-ended)
	}
	for _, fd := range fds {
		require.NoError(t, unix.Close(fd))
	}
	m.MustCLI("lock", "release", "--pid", harness.PIDOf(holder), m.Mountpoint)
	require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind("d7", "f")), "waits"))
}

// A process that is killed while it waits for the disk ends at once.
func TestAWriterThatWaitsForTheDiskCanBeKilled(t *testing.T) {
	m, disk := harness.PrepareFreezableOf(t, harness.MountOptions{OnFree: "allow"}, 64<<20)
	withDirs(t, m.Source, waitingWriters+1)
	m.Mount()
	fds := openEach(m)
	disk.Freeze()
	ended := make(chan error, waitingWriters)
	for _, fd := range fds {
		go func() {
			_, err := unix.Pwrite(fd, []byte("waits"), 0)
			_ = unix.Close(fd)
			ended <- err
		}()
	}
	harness.Eventually(t, "all threads for mutations are taken", func() bool { return m.InFlight() >= 256 })
	victim := harness.StartActor(t, "victim")
	victim.OK(harness.Command{Op: "open", Handle: "f", Path: m.At(fmt.Sprintf("d%d", waitingWriters), "read"), Flags: unix.O_RDONLY})
	victim.Begin(harness.Command{Op: "truncate", Path: m.At(fmt.Sprintf("d%d", waitingWriters), "f"), Len: 0})
	harness.Eventually(t, "the victim waits", func() bool { return waitsInFuse(victim.PID()) })
	require.NoError(t, unix.Kill(victim.PID(), unix.SIGKILL))
	harness.Eventually(t, "the victim ends", func() bool { return !waitsInFuse(victim.PID()) })
	_ = victim.Cmd.Wait() // killed, as it was meant to be
	require.Empty(t, ended)
	disk.Thaw()
	for range waitingWriters {
		require.NoError(t, <-ended)
	}
}

// waitsInFuse reports whether a thread of a process waits for an answer of a daemon.
func waitsInFuse(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return slices.ContainsFunc(tasks, threadWaitsInFuse)
}

func threadWaitsInFuse(task string) bool {
	text, err := os.ReadFile(filepath.Join(task, "stack"))
	return err == nil && strings.Contains(string(text), "request_wait_answer")
}
