package integration

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
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), body(), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "read"), body(), 0o644))
	}
}

// within fails unless what was begun ends in time; everything else goes on meanwhile.
func within(t *testing.T, what string, done <-chan reply) {
	t.Helper()
	select {
	case r := <-done:
		require.Empty(t, r.Errno, what)
	case <-time.After(patience):
		t.Fatal("it waits: " + what)
	}
}

// onAnotherDisk mounts another directory, on another disk, with a daemon of its own.
func (m *mount) onAnotherDisk() *mount {
	m.t.Helper()
	n := *m
	n.Source, n.Mountpoint, n.LockDir = filepath.Join(m.base, "other"), filepath.Join(m.base, "mnt3"), filepath.Join(m.base, "control3")
	require.NoError(m.t, os.Mkdir(n.Source, 0o755))
	require.NoError(m.t, os.Mkdir(n.Mountpoint, 0o755))
	n.mounted = false
	n.mount()
	m.t.Cleanup(n.unmount)
	return &n
}

// expectServed reads what the kernel has never asked for, and has the daemon and a second
// mount answer, while others wait.
func (m *mount) expectServed(dirs int) {
	m.t.Helper()
	reader := startActor(m.t, "reader")
	for i := range dirs {
		dir := fmt.Sprintf("d%d", i)
		within(m.t, "read "+dir, reader.begin(command{Op: "readfile", Path: m.At(dir, "read")}))
		within(m.t, "list "+dir, reader.begin(command{Op: "readdir", Path: m.At(dir)}))
	}
	require.Contains(m.t, m.cliOK("status"), "serving")
	m.cliOK("explain", m.At("d0", "f"))
}

// Four hundred writers wait for a disk that does not answer. Everybody else goes on: who
// reads, lists, opens, asks, renews, unmounts. When the disk answers they all succeed.
func TestNobodyWaitsForWhoWaitsForTheDisk(t *testing.T) {
	m, disk := prepareFreezableOf(t, mountOptions{onFree: "deny", policy: hasty}, 64<<20)
	withDirs(t, m.Source, waitingWriters)
	m.mount()
	holder := startActor(t, "holder")
	m.cliOK("lock", "acquire", "--scope", "mount", "--pid", pidOf(holder), m.Mountpoint)
	before := m.worktreeStatus("source")
	n := m.onAnotherDisk()
	var fds []int
	for i := range waitingWriters {
		fd, err := unix.Open(m.At(fmt.Sprintf("d%d", i), "f"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		fds = append(fds, fd)
	}
	disk.freeze()
	ended := make(chan error, waitingWriters)
	var under atomic.Int64
	for _, fd := range fds {
		go func() {
			under.Add(1)
			_, err := unix.Pwrite(fd, []byte("waits"), 0)
			ended <- err
		}()
	}
	eventually(t, "they wait", func() bool { return under.Load() == waitingWriters && m.inFlight() >= 200 })
	m.expectServed(40)
	time.Sleep(2 * hasty.lease) // a lease that is not renewed ends
	now := m.worktreeStatus("source")
	require.Equal(t, "held", now.State)
	require.Equal(t, before.Token, now.Token, "the lease was renewed all the while")
	require.Empty(t, ended)
	n.unmount()
	disk.thaw()
	for range fds {
		require.NoError(t, <-ended)
	}
	for _, fd := range fds {
		require.NoError(t, unix.Close(fd))
	}
	m.cliOK("lock", "release", "--pid", pidOf(holder), m.Mountpoint)
	require.True(t, strings.HasPrefix(readText(t, m.Behind("d7", "f")), "waits"))
}

// One who is killed while it stands in line for the disk ends at once.
func TestWhoStandsInLineCanBeKilled(t *testing.T) {
	m, disk := prepareFreezableOf(t, mountOptions{onFree: "allow"}, 64<<20)
	withDirs(t, m.Source, waitingWriters+1)
	m.mount()
	var fds []int
	for i := range waitingWriters {
		fd, err := unix.Open(m.At(fmt.Sprintf("d%d", i), "f"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		fds = append(fds, fd)
	}
	disk.freeze()
	ended := make(chan error, waitingWriters)
	for _, fd := range fds {
		go func() {
			_, err := unix.Pwrite(fd, []byte("waits"), 0)
			_ = unix.Close(fd)
			ended <- err
		}()
	}
	eventually(t, "all threads for mutations are taken", func() bool { return m.inFlight() >= 256 })
	victim := startActor(t, "victim")
	victim.ok(command{Op: "open", Handle: "f", Path: m.At(fmt.Sprintf("d%d", waitingWriters), "read"), Flags: unix.O_RDONLY})
	victim.begin(command{Op: "truncate", Path: m.At(fmt.Sprintf("d%d", waitingWriters), "f"), Len: 0})
	eventually(t, "the victim waits", func() bool { return waitsInFuse(victim.pid()) })
	require.NoError(t, unix.Kill(victim.pid(), unix.SIGKILL))
	eventually(t, "the victim ends", func() bool { return !waitsInFuse(victim.pid()) })
	_ = victim.cmd.Wait() // killed, as it was meant to be
	require.Empty(t, ended)
	disk.thaw()
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
