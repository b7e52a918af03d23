package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A process that has a file locked when the daemon is replaced keeps the lock: nobody gets it through the new
// daemon or natively. Waiters get it when it is released, also those that waited at the old daemon.
func TestAReplacementKeepsFileLocks(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow"})
	a, b, c, d := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c"), harness.StartActor(t, "d")
	held, waiting := map[string]harness.Locker{}, map[string]<-chan harness.Reply{}
	hows := []string{"flock", "posix", "ofd"}
	for _, how := range hows {
		held[how] = a.NewLocker(m.At(how), how)
		require.Empty(t, held[how].Try(unix.F_WRLCK, 0, 0))
	}
	early := c.NewLocker(m.At("flock"), "flock")
	waiting["early"] = early.Waits(unix.F_WRLCK, 0, 0)
	early.Asleep()
	old := replace(m)
	for _, how := range hows {
		through, native := b.NewLocker(m.At(how), how), d.NewLocker(m.Behind(how), how)
		require.Equal(t, "EAGAIN", through.Try(unix.F_WRLCK, 0, 0), how)
		require.Equal(t, "EAGAIN", native.Try(unix.F_RDLCK, 0, 0), how)
		native.Close()
		require.Empty(t, held[how].Try(unix.F_RDLCK, 0, 0), "its owner does with it what it likes: %s", how)
		if how == "flock" {
			require.Empty(t, held[how].Try(unix.F_UNLCK, 0, 0))
			require.Empty(t, (<-waiting["early"]).Errno, "who waited at the old daemon is the first")
			require.Equal(t, "EAGAIN", through.Try(unix.F_WRLCK, 0, 0))
			early.Close()
			harness.Eventually(t, "a close gives it back", func() bool { return through.Try(unix.F_WRLCK, 0, 0) == "" })
		} else {
			require.Empty(t, through.Try(unix.F_RDLCK, 0, 0), "shared by both")
			require.Empty(t, through.Try(unix.F_UNLCK, 0, 0))
			waiting[how] = through.Waits(unix.F_WRLCK, 0, 0)
			through.Asleep()
			require.Empty(t, held[how].Try(unix.F_UNLCK, 0, 0))
			require.Empty(t, (<-waiting[how]).Errno, how)
		}
		require.Equal(t, "EAGAIN", held[how].Try(unix.F_WRLCK, 0, 0), how)
		held[how].Close()
		through.Close()
	}
	gone(m, "the old daemon has ended", old)
}

// Locks that the kernel keeps to a mount cannot hold between two: the command says so.
func TestReplaceSaysThatLocalLocksDoNotHold(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Extra: []string{"--file-locks", "mount"}})
	_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "allow", "--file-locks", "mount",
		"--log-file", m.LogFile(), "--replace")
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "file_locks")
}
