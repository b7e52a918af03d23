package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Whoever has a file locked when the daemon is replaced keeps the lock: nobody gets it through
// the new one or natively, whoever waits gets it when it is given back, and one who waited at
// the old daemon still does.
func TestReplaceKeepsFileLocks(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "allow"})
	a, b, c, d := startActor(t, "a"), startActor(t, "b"), startActor(t, "c"), startActor(t, "d")
	held, waiting := map[string]locker{}, map[string]<-chan reply{}
	hows := []string{"flock", "posix", "ofd"}
	for _, how := range hows {
		held[how] = a.locker(m.At(how), how)
		require.Empty(t, held[how].try(unix.F_WRLCK, 0, 0))
	}
	early := c.locker(m.At("flock"), "flock")
	waiting["early"] = early.waits(unix.F_WRLCK, 0, 0)
	early.asleep()
	old := m.replace()
	for _, how := range hows {
		through, native := b.locker(m.At(how), how), d.locker(m.Behind(how), how)
		require.Equal(t, "EAGAIN", through.try(unix.F_WRLCK, 0, 0), how)
		require.Equal(t, "EAGAIN", native.try(unix.F_RDLCK, 0, 0), how)
		native.close()
		require.Empty(t, held[how].try(unix.F_RDLCK, 0, 0), "its owner does with it what it likes: %s", how)
		if how == "flock" {
			require.Empty(t, held[how].try(unix.F_UNLCK, 0, 0))
			require.Empty(t, (<-waiting["early"]).Errno, "who waited at the old daemon is the first")
			require.Equal(t, "EAGAIN", through.try(unix.F_WRLCK, 0, 0))
			early.close()
			eventually(t, "a close gives it back", func() bool { return through.try(unix.F_WRLCK, 0, 0) == "" })
		} else {
			require.Empty(t, through.try(unix.F_RDLCK, 0, 0), "shared by both")
			require.Empty(t, through.try(unix.F_UNLCK, 0, 0))
			waiting[how] = through.waits(unix.F_WRLCK, 0, 0)
			through.asleep()
			require.Empty(t, held[how].try(unix.F_UNLCK, 0, 0))
			require.Empty(t, (<-waiting[how]).Errno, how)
		}
		require.Equal(t, "EAGAIN", held[how].try(unix.F_WRLCK, 0, 0), how)
		held[how].close()
		through.close()
	}
	m.gone("the old daemon has ended", old)
}

// Locks that the kernel keeps to a mount cannot hold between two: the command says so.
func TestReplaceSaysThatLocalLocksDoNotHold(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "allow", extra: []string{"--file-locks", "mount"}})
	_, errs, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "allow", "--file-locks", "mount",
		"--log-file", m.logFile(), "--replace")
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "file_locks")
}
