package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestRecoverInterrupted: a recovery that was killed between its steps leaves mounts one on the
// other. The next one finishes it.
func TestRecoverInterrupted(t *testing.T) {
	t.Run("two dead mounts", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		a := startActor(t, "a")
		before := m.acquire(a)
		m.killDaemon()
		upper := m.elsewhere()
		moveMount(t, upper.Mountpoint, m.Mountpoint, 0)
		upper.killDaemon()
		require.Len(t, m.stack(), 2)
		all, _, _ := m.doctor()
		require.Contains(t, fmt.Sprint(all), "was interrupted")
		m.recover()
		require.Len(t, m.stack(), 1)
		a.ok(m.put("f"))
		_, r := m.headClaim("")
		require.Equal(t, before.Token, r.Token)
	})
	t.Run("two dead mounts, and nothing is known of the lower one", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		known := strings.TrimSuffix(m.socket(m.Mountpoint), "sock")
		m.killDaemon()
		for _, kind := range []string{"sock", "state", "leases"} {
			require.NoError(t, os.Remove(known+kind))
		}
		upper := m.elsewhere()
		moveMount(t, upper.Mountpoint, m.Mountpoint, 0)
		upper.killDaemon()
		require.Len(t, m.stack(), 2)
		m.opts.extra = []string{"--recover"}
		m.mount()
		m.dead = false
		require.Len(t, m.stack(), 1)
	})
	t.Run("only the last step is missing", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		m.killDaemon()
		lower := m.elsewhere()
		moveMount(t, lower.Mountpoint, m.Mountpoint, moveMountBeneath)
		require.Len(t, m.stack(), 2)
		m.recover()
		require.Len(t, m.stack(), 1)
		a := startActor(t, "a")
		a.ok(command{Op: "readfile", Path: m.At("f")})
		a.fails(m.put("f"), "EROFS")
		lower.killDaemon() // it believes to be at another place
		m.dead = true
	})
	t.Run("killed in the middle", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		a := startActor(t, "a")
		before := m.acquire(a)
		caught := 0
		for range rounds(10) {
			m.killDaemon()
			next := m.start(m.bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.logFile(), "--foreground", "--recover")
			for end := time.Now().Add(200 * time.Millisecond); len(m.stack()) < 2 && time.Now().Before(end); {
			}
			require.NoError(t, unix.Kill(next.pid(), unix.SIGKILL)) // between its steps, or a little later
			next.wait()
			if len(m.stack()) == 2 {
				caught++
			}
			a.fails(m.put("f"), "ENOTCONN", "ECONNABORTED")
			m.recover()
			require.Len(t, m.stack(), 1)
			a.ok(m.put("f"))
			_, r := m.headClaim("")
			require.Equal(t, before.Token, r.Token)
		}
		m.CLI("doctor", "--repair") // a daemon that ended before its mount was seen leaves its state
		t.Logf("%d times with both mounts there", caught)
	})
}

const moveMountBeneath = 0x200 // MOVE_MOUNT_BENEATH, Linux 6.5

func moveMount(t *testing.T, from, to string, flags int) {
	t.Helper()
	require.NoError(t, unix.MoveMount(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags))
}

// elsewhere mounts the same source at another mount point, without cleaning up after itself.
func (m *mount) elsewhere() *mount {
	m.t.Helper()
	n := *m
	n.dead = false
	n.Mountpoint = filepath.Join(m.base, "elsewhere")
	require.NoError(m.t, os.Mkdir(n.Mountpoint, 0o755))
	n.mount()
	return &n
}
