package daemon

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/integration/harness"
)

// tenureOf is the tenure of a lock.
func tenureOf(m *harness.Mount, id string) uint64 {
	m.T.Helper()
	var status struct {
		Mounts []struct {
			Mountpoint string
			Rules      []tenure.View
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &status))
	for _, mount := range status.Mounts {
		for _, one := range mount.Rules {
			if one.ID == id && mount.Mountpoint == m.Mountpoint {
				return one.Tenure
			}
		}
	}
	return 0
}

// goesOn checks that the one who holds repos/a is the one who held it, and that nobody else does what it may.
func goesOn(m *harness.Mount, holder, other *harness.Actor, number uint64) {
	m.T.Helper()
	meta := m.At("repos", "a", "meta")
	require.Empty(m.T, overwrites(holder, meta))
	require.Equal(m.T, "EROFS", overwrites(other, meta))
	other.Fails(harness.Command{Op: "unlink", Path: m.At("repos", "a", ".lock")}, "EROFS")
	require.Equal(m.T, number, tenureOf(m, "agency{repo=a}"))
}

// The new daemon ends before it has taken the place. Meanwhile what rules cover waits, and what they do not goes on; then all is as before.
func TestAFailedReplacementChangesNoProgramsLock(t *testing.T) {
	m := seenMount(t)
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	meta, lock := m.At("repos", "a", "meta"), m.At("repos", "a", ".lock")
	require.Empty(t, takes(holder, lock).Errno)
	number := tenureOf(m, "agency{repo=a}")
	successor, end := retireFor(m, unrelated) // a mount of the same source would need the same rules
	holds := holder.Begin(harness.Command{Op: "writefile", Path: meta, Flags: unix.O_TRUNC, Data: []byte("y")})
	removes := other.Begin(harness.Command{Op: "unlink", Path: lock})
	third := harness.StartActor(t, "third")
	third.OK(m.Put("other"))
	for _, waits := range []<-chan harness.Reply{holds, removes} {
		select {
		case r := <-waits:
			require.Fail(t, "it did not wait", r.Errno)
		default:
		}
	}
	end()
	require.Empty(t, (<-holds).Errno)
	require.Equal(t, "EROFS", (<-removes).Errno)
	goesOn(m, holder, other, number)
	holder.OK(harness.Command{Op: "unlink", Path: lock})
	require.Empty(t, takes(other, lock).Errno)
	require.Greater(t, tenureOf(m, "agency{repo=a}"), number)
	m.MustCLI("umount", "--bare", successor.Mountpoint)
}

// Either of the two daemons is killed in the middle of a replacement, wherever it is. The tenure goes on with that which is left, or after
// a recovery.
func TestAReplacementKilledInTheMiddleKeepsProgramsLocks(t *testing.T) {
	for _, which := range []string{"the new daemon", "the old daemon"} {
		t.Run(which, func(t *testing.T) {
			for range harness.Rounds(5) {
				killInTheMiddle(t, which == "the new daemon")
			}
		})
	}
}

func killInTheMiddle(t *testing.T, new bool) {
	m := seenMount(t)
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	require.Empty(t, takes(holder, m.At("repos", "a", ".lock")).Errno)
	number := tenureOf(m, "agency{repo=a}")
	old := m.Daemons()
	next := m.Start(m.Bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--mode", "shared", "--rules", m.Opts.Extra[3],
		"--log-file", m.LogFile(), "--foreground", "--replace")
	wait := time.Duration(rand.IntN(200)) * time.Millisecond // where it is met is chance
	for end := time.Now().Add(wait); len(stack(m)) < 2 && time.Now().Before(end); {
	}
	if new {
		require.NoError(t, unix.Kill(next.PID(), unix.SIGKILL))
		next.Wait()
	} else {
		if err := unix.Kill(old[0], unix.SIGKILL); !errors.Is(err, unix.ESRCH) { // the replacement may be through
			require.NoError(t, err)
		}
		gone(m, "the old daemon has ended", old)
	}
	settled(m)
	goesOn(m, holder, other, number)
	takeAwayBoth(m)
	if !new { // its end takes its control socket away, which a kill leaves
		next.Wait()
	}
	holder.End()
	other.End()
}

// settled waits until one of them serves, or is recovered.
func settled(m *harness.Mount) {
	m.T.Helper()
	harness.EventuallyNoted(m.T, "somebody serves", func() (bool, string) {
		_, errs, exit := m.CLI("recover", m.Mountpoint)
		return exit == 0 || strings.Contains(errs, "is served already"), errs
	})
	m.RepairState() // a daemon that ended before its mount was seen leaves its state
}

// takeAwayBoth unmounts what serves, and a dead mount below it that the new daemon has left: a mount for each command.
func takeAwayBoth(m *harness.Mount) {
	m.T.Helper()
	if len(stack(m)) == 2 {
		m.T.Log("a dead mount lies below")
		harness.EventuallyNoted(m.T, "the mount on top is gone", func() (bool, string) {
			_, errs, exit := m.CLI("umount", m.Mountpoint)
			return exit == 0, errs
		})
		m.Dead = true
	}
	m.Unmount()
	m.Dead = false
}

// Tenures go on over two replacements, and so does what is open under them from before the first.
func TestTwoReplacementsKeepProgramsLocks(t *testing.T) {
	m := seenMount(t)
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	lock := m.At("repos", "a", ".lock")
	require.Empty(t, takes(holder, lock).Errno)
	number := tenureOf(m, "agency{repo=a}")
	holder.OK(harness.Command{Op: "open", Handle: "meta", Path: m.At("repos", "a", "meta"), Flags: unix.O_RDWR})
	for range 2 {
		replace(m)
		holder.OK(harness.Command{Op: "pwrite", Handle: "meta", Data: []byte("open")})
		goesOn(m, holder, other, number)
	}
	holder.OK(harness.Command{Op: "unlink", Path: lock})
	require.Empty(t, takes(other, lock).Errno)
	require.Greater(t, tenureOf(m, "agency{repo=a}"), number)
	holder.Fails(harness.Command{Op: "pwrite", Handle: "meta", Data: []byte("late")}, "EROFS")
	require.Empty(t, overwrites(other, m.At("repos", "a", "meta")))
	holder.OK(harness.Command{Op: "close", Handle: "meta"})
}
