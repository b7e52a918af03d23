package rules

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const flockRules = `- name: flock
  lock: 'flock/{f}.lock'
  taken_by: flock
  guards: ['flock/{f}.data']
`

// locked is a mount with a holder of a flock, and a file that it has open under the lock.
type locked struct {
	*harness.Mount
	holder, other *harness.Actor
	own, others   harness.Locker
	number        uint64
	old           []int
}

const theFlock = "flock{f=a}"

func (l *locked) data() string { return l.At("flock", "a.data") }

func flockAndReplace(t *testing.T) *locked {
	t.Helper()
	l := &locked{Mount: mountWith(t, flockRules, "flock/a.data", "flock/a.lock"), holder: harness.StartActor(t, "holder"), other: harness.StartActor(t, "other")}
	l.own = l.holder.NewLocker(l.At("flock", "a.lock"), "flock")
	require.Empty(t, l.own.Try(unix.F_WRLCK, 0, 0))
	l.holder.OK(harness.Command{Op: "open", Handle: "data", Path: l.data(), Flags: unix.O_WRONLY})
	l.number = lockNamed(l.Mount, theFlock).Tenure
	l.old = replace(l.Mount)
	l.others = l.other.NewLocker(l.At("flock", "a.lock"), "flock")
	return l
}

// goesOn checks that the holder holds the lock, and nobody else.
func (l *locked) goesOn() {
	l.T.Helper()
	require.Equal(l.T, l.number, lockNamed(l.Mount, theFlock).Tenure)
	require.Equal(l.T, "EAGAIN", l.others.Try(unix.F_WRLCK, 0, 0))
	require.Equal(l.T, "EROFS", l.other.Do(put(l.data(), "y")).Errno)
	require.Equal(l.T, "EROFS", l.other.Do(remove(l.At("flock", "a.lock"))).Errno)
	require.Empty(l.T, l.holder.Do(put(l.data(), "x")).Errno)
	require.Empty(l.T, l.holder.Do(harness.Command{Op: "pwrite", Handle: "data", Data: []byte("x")}).Errno)
}

// isFree checks that the tenure has ended with the lock, and that the other one gets it.
func (l *locked) isFree() {
	l.T.Helper()
	harness.Eventually(l.T, "the tenure has ended", func() bool { return l.holder.Do(put(l.data(), "x")).Errno == "EROFS" })
	require.Equal(l.T, "EROFS", l.holder.Do(harness.Command{Op: "pwrite", Handle: "data", Data: []byte("late")}).Errno)
	harness.Eventually(l.T, "another gets the lock", func() bool { return l.others.Try(unix.F_WRLCK, 0, 0) == "" })
	require.Empty(l.T, l.other.Do(put(l.data(), "y")).Errno)
	require.Equal(l.T, "EROFS", l.holder.Do(put(l.data(), "x")).Errno)
	require.Greater(l.T, lockNamed(l.Mount, theFlock).Tenure, l.number)
	l.holder.Do(harness.Command{Op: "close", Handle: "data"})
}

// A flock that is held when the daemon is replaced holds, once more when the next one is, and over a kill of that one. The tenure ends
// with the lock.
func TestAReplacementKeepsFlocks(t *testing.T) {
	l := flockAndReplace(t)
	l.goesOn()
	l.others.Close()
	hasEnded(l.Mount, replace(l.Mount)[1:])
	l.others = l.other.NewLocker(l.At("flock", "a.lock"), "flock")
	l.goesOn()
	l.others.Close()
	for _, pid := range l.Daemons() {
		if !slices.Contains(l.old, pid) {
			require.NoError(t, unix.Kill(pid, unix.SIGKILL))
			hasEnded(l.Mount, []int{pid})
		}
	}
	l.Recover()
	l.others = l.other.NewLocker(l.At("flock", "a.lock"), "flock")
	l.goesOn()
	require.Empty(t, l.own.Try(unix.F_UNLCK, 0, 0))
	l.isFree()
	l.others.Close()
	harness.Eventually(t, "the old mount grants none: nobody would know", func() bool { return l.own.Try(unix.F_WRLCK, 0, 0) == "EROFS" })
	l.own.Close()
	hasEnded(l.Mount, l.old)
}

// A close gives the flock up, and so does the end of the old daemon.
func TestAFlockEndsWithItsOpenFile(t *testing.T) {
	for what, ends := range map[string]func(*locked){
		"close": func(l *locked) { l.own.Close() },
		"the old daemon is killed": func(l *locked) {
			require.NoError(l.T, unix.Kill(l.old[0], unix.SIGKILL))
			hasEnded(l.Mount, l.old)
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := flockAndReplace(t)
			l.goesOn()
			ends(l)
			if what == "close" {
				l.isFree()
				return
			}
			harness.Eventually(t, "another gets the lock", func() bool { return l.others.Try(unix.F_WRLCK, 0, 0) == "" })
			require.Empty(t, l.other.Do(put(l.data(), "y")).Errno)
			require.Equal(t, "EROFS", l.holder.Do(put(l.data(), "x")).Errno)
		})
	}
}

// Who waits at the old daemon gets the lock nowhere but at the new one.
func TestAWaiterAtTheReplacedDaemonGetsTheLockAtTheNewOne(t *testing.T) {
	l := &locked{Mount: mountWith(t, flockRules, "flock/a.data", "flock/a.lock"), holder: harness.StartActor(t, "holder"), other: harness.StartActor(t, "other")}
	l.own = l.holder.NewLocker(l.At("flock", "a.lock"), "flock")
	require.Empty(t, l.own.Try(unix.F_WRLCK, 0, 0))
	waiter := l.other.NewLocker(l.At("flock", "a.lock"), "flock")
	waits := waiter.Waits(unix.F_WRLCK, 0, 0)
	waiter.Asleep()
	replace(l.Mount)
	require.Empty(t, l.own.Try(unix.F_UNLCK, 0, 0))
	require.Equal(t, "EROFS", (<-waits).Errno)
	again := l.other.NewLocker(l.At("flock", "a.lock"), "flock")
	harness.Eventually(t, "it gets the lock by a file that it opens anew", func() bool { return again.Try(unix.F_WRLCK, 0, 0) == "" })
	require.Empty(t, l.other.Do(put(l.data(), "y")).Errno)
}
