package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestARecoveryKilledBetweenItsStepsIsFinishedByTheNext: a recovery that was killed between its steps leaves mounts one on the
// other. The next one finishes it.
func TestARecoveryKilledBetweenItsStepsIsFinishedByTheNext(t *testing.T) {
	t.Run("two dead mounts", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		a := harness.StartActor(t, "a")
		before := m.Acquire(a)
		m.KillDaemon()
		upper := elsewhere(m)
		moveMount(t, upper.Mountpoint, m.Mountpoint, 0)
		upper.KillDaemon()
		require.Len(t, stack(m), 2)
		all, _, _ := m.Doctor()
		require.Contains(t, fmt.Sprint(all), "was interrupted")
		m.Recover()
		require.Len(t, stack(m), 1)
		a.OK(m.Put("f"))
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
	})
	t.Run("two dead mounts, and nothing is known of the lower one", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		known := strings.TrimSuffix(socket(m, m.Mountpoint), "sock")
		m.KillDaemon()
		for _, kind := range []string{"sock", "state", "leases"} {
			require.NoError(t, os.Remove(known+kind))
		}
		upper := elsewhere(m)
		moveMount(t, upper.Mountpoint, m.Mountpoint, 0)
		upper.KillDaemon()
		require.Len(t, stack(m), 2)
		m.Opts.Extra = []string{"--recover"}
		m.Mount()
		m.Dead = false
		require.Len(t, stack(m), 1)
	})
	t.Run("only the last step is missing", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		m.KillDaemon()
		lower := elsewhere(m)
		moveMount(t, lower.Mountpoint, m.Mountpoint, moveMountBeneath)
		require.Len(t, stack(m), 2)
		m.Recover()
		require.Len(t, stack(m), 1)
		a := harness.StartActor(t, "a")
		a.OK(harness.Command{Op: "readfile", Path: m.At("f")})
		a.Fails(m.Put("f"), "EROFS")
		lower.KillDaemon() // it believes to be at another place
		m.Dead = true
	})
	t.Run("killed in the middle", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		a := harness.StartActor(t, "a")
		before := m.Acquire(a)
		caught := 0
		for range harness.Rounds(10) {
			m.KillDaemon()
			next := m.Start(m.Bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--foreground", "--recover")
			for end := time.Now().Add(200 * time.Millisecond); len(stack(m)) < 2 && time.Now().Before(end); {
			}
			require.NoError(t, unix.Kill(next.PID(), unix.SIGKILL)) // between its steps, or a little later
			next.Wait()
			if len(stack(m)) == 2 {
				caught++
			}
			a.Fails(m.Put("f"), "ENOTCONN", "ECONNABORTED")
			m.Recover()
			require.Len(t, stack(m), 1)
			a.OK(m.Put("f"))
			_, r := m.HeadClaim("")
			require.Equal(t, before.Token, r.Token)
		}
		m.RepairState() // a daemon that ended before its mount was seen leaves its state
		t.Logf("%d times with both mounts there", caught)
	})
}

const moveMountBeneath = 0x200 // MOVE_MOUNT_BENEATH, Linux 6.5

func moveMount(t *testing.T, from, to string, flags int) {
	t.Helper()
	require.NoError(t, unix.MoveMount(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags))
}

// elsewhere mounts the same source at another mount point, without cleaning up after itself.
func elsewhere(m *harness.Mount) *harness.Mount {
	m.T.Helper()
	n := *m
	n.Dead = false
	n.Mountpoint = filepath.Join(m.Base, "elsewhere")
	require.NoError(m.T, os.Mkdir(n.Mountpoint, 0o755))
	n.Mount()
	return &n
}

// unrelated mounts another source, without rules.
func unrelated(m *harness.Mount) *harness.Mount {
	m.T.Helper()
	n := *m
	n.Source, n.LockDir, n.Opts.Extra = filepath.Join(m.Base, "unrelated"), filepath.Join(m.Base, "unrelated.control"), nil
	require.NoError(m.T, os.Mkdir(n.Source, 0o755))
	return elsewhere(&n)
}
