package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestNoStrangersWriteLandsDuringFiftyRecoveries: the daemon is killed and the mount recovered fifty times, while a
// stranger and the holder write and read by path without a pause. The stranger never
// succeeds, nobody ever sees what lies below, and the holder keeps its token.
func TestNoStrangersWriteLandsDuringFiftyRecoveries(t *testing.T) {
	for _, c := range []struct {
		name        string
		cycles      int
		inPlace     bool
		propagation uintptr
	}{
		{"private, in place", 14, true, unix.MS_PRIVATE},
		{"shared, in place", 12, true, unix.MS_SHARED},
		{"shared", 12, false, unix.MS_SHARED},
		{"slave", 12, false, unix.MS_SLAVE},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := harness.PrepareMount(t, harness.MountOptions{InPlace: c.inPlace, OnFree: "deny", Prepare: harness.WithFiles("f")})
			peers := propagate(m, c.propagation)
			below := harness.BindView(t, m.Mountpoint, filepath.Join(m.Base, "below"), 0)
			m.Mount()
			recoverUnderFire(t, m, c.cycles, peers)
			if !c.inPlace {
				entries, err := os.ReadDir(below)
				require.NoError(t, err)
				require.Empty(t, entries, "in the directory below the mount point")
			}
			m.Unmount() // before its carrier goes
		})
	}
}

func recoverUnderFire(t *testing.T, m *harness.Mount, cycles int, peers []string) {
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	before := m.Acquire(holder)
	held := startHammer(t, holder, m.At("held"), m.At("f"), filepath.Join(m.Base, "stop-holder"))
	strange := startHammer(t, stranger, m.At("strange"), m.At("f"), filepath.Join(m.Base, "stop-stranger"))
	for range harness.Rounds(cycles) {
		m.KillDaemon()
		m.Recover()
		require.Len(t, stack(m), 1, "the dead mount is gone")
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
		require.False(t, r.Released)
	}
	seen, other := held.end(), strange.end()
	t.Log(seen, other)
	holder.OK(m.Put("after"))
	stranger.Fails(m.Put("after"), "EROFS")
	// EIO is what the kernel says to the caller whose request or answer was just being copied.
	dead := []string{"ENOTCONN", "ECONNABORTED", "EIO"}
	if harness.OnRing() {
		// And so it ends a request that it has not yet copied to a ring whose thread is exiting (the cancel branch of
		// fuse_uring_send_in_task in fs/fuse/dev_uring.c): no daemon has seen it, so its write has not landed (below).
		dead = append(dead, "ECANCELED")
	}
	for what := range other {
		assert.Contains(t, slices.Concat(both("write ", dead...), both("read ", dead...), []string{"write EROFS", "read "}), what)
	}
	for what := range seen {
		assert.Contains(t, slices.Concat(both("write ", dead...), both("read ", dead...), []string{"write ", "read "}), what)
	}
	require.NotZero(t, seen["write "])
	require.NotZero(t, other["write EROFS"])
	require.NoFileExists(t, m.Behind("strange"))
	landed := len(harness.ReadText(t, m.Behind("held"))) / 2
	require.GreaterOrEqual(t, landed, seen["write "], "what was acknowledged is there")
	require.LessOrEqual(t, landed, seen["write "]+seen["write ECONNABORTED"]+seen["write EIO"], "what was refused is not")
	for _, peer := range peers {
		require.FileExists(t, filepath.Join(peer, "after"), "the mount came back where it is propagated to")
	}
}

// both puts one word before each of the others.
func both(word string, others ...string) (out []string) {
	for _, o := range others {
		out = append(out, word+o)
	}
	return out
}

// propagate puts the mount point on a mount of its own, of that propagation. Of a shared one
// there is a peer, and a slave: the mount point as it is seen there is returned.
func propagate(m *harness.Mount, how uintptr) (seen []string) {
	m.T.Helper()
	carrier := filepath.Dir(m.Mountpoint)
	bindOver(m.T, carrier, carrier, unix.MS_REC, unix.MS_SHARED)
	if how == unix.MS_SHARED {
		for _, kind := range []uintptr{unix.MS_SHARED, unix.MS_SLAVE} {
			other, err := os.MkdirTemp(harness.Scratch, "peer-")
			require.NoError(m.T, err)
			m.T.Cleanup(func() { require.NoError(m.T, os.Remove(other)) })
			bindOver(m.T, carrier, other, 0, kind)
			seen = append(seen, filepath.Join(other, filepath.Base(m.Mountpoint)))
		}
		return seen
	}
	if how == unix.MS_SLAVE { // of a master that sees nothing of it
		master := m.T.TempDir()
		bindOver(m.T, carrier, master, 0, unix.MS_SHARED)
	}
	require.NoError(m.T, unix.Mount("", carrier, "", how, ""))
	return nil
}

func bindOver(t *testing.T, from, at string, flags, propagation uintptr) {
	t.Helper()
	require.NoError(t, unix.Mount(from, at, "", unix.MS_BIND|flags, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(at, unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", at, "", propagation, ""))
}

// stack is the types of the jvsfs mounts at the mount point.
func stack(m *harness.Mount) []string {
	m.T.Helper()
	all, err := harness.MountsBelow(m.Mountpoint)
	require.NoError(m.T, err)
	var ours []string
	for _, point := range all {
		if strings.Contains(point, "fuse.jvsfs") {
			ours = append(ours, point)
		}
	}
	return ours
}

// TestAfterARecoveryAHolderThatCannotContinueIsRefused: a holder that cannot continue is refused until it acquires again.
func TestAfterARecoveryAHolderThatCannotContinueIsRefused(t *testing.T) {
	t.Run("too late", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "acquire", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
		a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
		m.Acquire(a)
		m.KillDaemon()
		m.AwaitStealable("")
		m.Recover()
		b.OK(m.Put("f")) // takes the lease by writing: nobody holds it
		a.Fails(m.Put("f"), "EROFS")
		a.Fails(m.Put("g"), "EROFS")
	})
	t.Run("late, and again on purpose", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "acquire", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
		a := harness.StartActor(t, "a")
		m.Acquire(a)
		m.KillDaemon()
		m.AwaitStealable("")
		m.Recover()
		a.Fails(m.Put("f"), "EROFS")
		m.KillDaemon() // what a daemon knew of the revoked outlives it, too
		m.Recover()
		a.Fails(m.Put("f"), "EROFS")
		require.EqualValues(t, "2", m.Acquire(a).Token)
		a.OK(m.Put("f"))
	})
	t.Run("the record changed", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		a := harness.StartActor(t, "a")
		m.Acquire(a)
		m.KillDaemon()
		m.SpoilHead(harness.With("holder_nonce", "another"))
		m.Recover()
		a.Fails(m.Put("f"), "EROFS")
		require.Contains(t, fmt.Sprint(m.AuditTail(m.At())), "superseded")
	})
	t.Run("the holder ended", func(t *testing.T) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		a, next := harness.StartActor(t, "a"), harness.StartActor(t, "next")
		m.Acquire(a)
		m.KillDaemon()
		a.End()
		m.Recover()
		_, r := m.HeadClaim("")
		require.True(t, r.Released, "nobody has to wait")
		require.EqualValues(t, "2", m.Acquire(next).Token)
		next.OK(m.Put("f"))
	})
}

// TestTheSameMountCommandAgainRecovers is what a unit does: the same command line again.
func TestTheSameMountCommandAgainRecovers(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	argv := []string{m.Bin, "mount", m.Source, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--foreground", "--recover"}
	first := m.Start(argv...)
	m.Mounted, m.WasMounted = true, true
	harness.Eventually(t, "it serves", func() bool {
		_, _, exit := m.CLI("lock", "status", m.Mountpoint)
		return harness.TopType(t, m.Mountpoint) != "" && exit == 0
	})
	a := harness.StartActor(t, "a")
	before := m.Acquire(a)
	require.NoError(t, unix.Kill(first.PID(), unix.SIGKILL))
	first.Wait()
	a.Fails(m.Put("f"), "ENOTCONN", "ECONNABORTED")
	second := m.Start(argv...)
	harness.EventuallyNoted(t, "the holder writes again", func() (bool, string) {
		r := a.Do(m.Put("f"))
		return r.Errno == "", r.Errno + harness.ReadText(t, second.File)
	})
	_, r := m.HeadClaim("")
	require.Equal(t, before.Token, r.Token)
	_, errs, exit := m.CLI(append(argv[1:len(argv)-2:len(argv)-2], "--recover")...)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is served already")
	m.Release(a)
	m.Unmount()
	exit, said := second.Wait()
	require.Zero(t, exit, said)
}

// TestRecoverIsRefusedForALivingMountAndOneWithMountsInside: a mount that is not dead, and one with other mounts inside.
func TestRecoverIsRefusedForALivingMountAndOneWithMountsInside(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	_, errs, exit := m.CLI("recover", m.Mountpoint)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is served already")

	pid := m.Daemons()[0]
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	_, errs, exit = m.CLI("recover", m.Mountpoint)
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))
	require.Equal(t, harness.ExitDead, exit)
	require.Contains(t, errs, "it has not ended")
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})

	require.NoError(t, unix.Mount("none", m.At("d"), "tmpfs", 0, ""))
	inside, err := unix.Open(m.At("d"), unix.O_PATH|unix.O_CLOEXEC, 0) // no path leads there later
	require.NoError(t, err)
	m.KillDaemon()
	_, errs, exit = m.CLI("recover", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit)
	require.Contains(t, errs, m.At("d"))
	require.NoError(t, unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", inside), unix.MNT_DETACH))
	require.NoError(t, unix.Close(inside))
	_, errs, exit = m.CLI("umount", m.Mountpoint)
	require.Equal(t, harness.ExitDead, exit)
	require.Contains(t, errs, "jvsfs recover "+m.Mountpoint)
	out, _, _ := m.CLI("recover", "--json") // others may have dead mounts here
	require.Contains(t, out, fmt.Sprintf(`"mountpoint": %q,`, m.Mountpoint))
	m.Dead = false
	a.OK(m.Put("f"))
	out, _, _ = m.CLI("recover", "--json")
	require.NotContains(t, out, m.Mountpoint, "it serves")
}

// TestAUserCannotBlockARecoveryByALock: a user who may read the directory of the sockets cannot block a recovery by a
// lock on it.
func TestAUserCannotBlockARecoveryByALock(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.KillDaemon()
	dir, err := os.Open("/run/jvsfs")
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, unix.Flock(int(dir.Fd()), unix.LOCK_SH))
	m.Recover()
	st, err := os.Lstat("/run/jvsfs/recover.lock")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
}

// TestRecoverAllFailsForNoPropagatedMount: what is propagated elsewhere comes back there by itself, and is no failure.
func TestRecoverAllFailsForNoPropagatedMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	peers := propagate(m, unix.MS_SHARED)
	m.Mount()
	m.KillDaemon()
	out, errs, _ := m.CLI("recover", "--json") // others may have dead mounts here
	m.Dead = false
	require.Contains(t, out, m.Mountpoint, errs)
	for _, peer := range peers {
		require.NotContains(t, out, peer)
		require.FileExists(t, filepath.Join(peer, "f"))
	}
	// A bind mount is not reached by anything, and is named.
	bind := filepath.Join(m.Base, "bind")
	require.NoError(t, os.Mkdir(bind, 0o755))
	bindOver(t, m.Mountpoint, bind, 0, unix.MS_PRIVATE)
	m.KillDaemon()
	out = m.MustCLI("recover", "--json", m.Mountpoint)
	m.Dead = false
	require.Contains(t, out, bind)
	m.Unmount() // before its carrier goes
}

// TestRecoverWithoutStateSaysWhatToRun: nothing is known of a daemon of before; the person says what to run.
func TestRecoverWithoutStateSaysWhatToRun(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.KillDaemon()
	files, err := filepath.Glob("/run/jvsfs/dev-*")
	require.NoError(t, err)
	for _, f := range files {
		if ownsState(m, f) {
			require.NoError(t, os.Remove(f))
		}
	}
	_, errs, exit := m.CLI("recover", m.Mountpoint)
	require.Equal(t, harness.ExitDead, exit)
	require.Contains(t, errs, "jvsfs mount --recover "+m.Source)
	m.Opts.Extra = []string{"--recover"}
	m.Dead = false
	m.Mount()
	require.Len(t, stack(m), 1)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(m.Put("f"))
}

// ownsState tells whether a file of /run/jvsfs is of the mount at our mount point.
func ownsState(m *harness.Mount, file string) bool {
	dev := ""
	for _, line := range strings.Split(harness.ReadText(m.T, "/proc/self/mountinfo"), "\n") {
		if f := strings.Fields(line); len(f) > 4 && f[4] == m.Mountpoint {
			dev = strings.ReplaceAll(f[2], ":", "-")
		}
	}
	return strings.HasPrefix(filepath.Base(file), "dev-"+dev+".")
}

// TestExecGoesOnWhenItsMountIsRecoveredInTime: CMD continues when the mount is recovered in time with its lease.
func TestExecGoesOnWhenItsMountIsRecoveredInTime(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	for range 5 {
		_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "true")
		require.Zero(t, exit)
		require.Empty(t, errs, "nothing happened")
	}
	b := m.StartExec("echo 1 >" + m.At("f") + "; " + l.Tell("begun") + "; read x <" + l.Gate("go") + "; echo 2 >" + m.At("f") + "; " + l.Tell("written"))
	require.Equal(t, "0", l.Take("begun"))
	m.KillDaemon()
	harness.Eventually(t, "exec has noticed", func() bool { return strings.Contains(harness.ReadText(t, b.File), "the daemon of the mount is gone") })
	m.Recover()
	harness.Eventually(t, "exec has found its lease again", func() bool { return strings.Contains(harness.ReadText(t, b.File), "the lease continues") })
	l.Open("go")
	require.Equal(t, "0", l.Take("written"))
	exit, errs := b.Wait()
	require.Zero(t, exit, errs)
	require.Equal(t, "2\n", harness.ReadText(t, m.Behind("f")))
	_, r := m.HeadClaim("")
	require.True(t, r.Released)
}

// Without a recovery, or with one that came too late, the lease is lost as any.
func TestExecLosesItsLeaseWhenItsMountIsNotRecoveredInTime(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec(l.Tell("begun") + "; read x <" + l.Gate("never"))
	require.Equal(t, "0", l.Take("begun"))
	m.KillDaemon()
	exit, errs := b.Wait()
	require.Equal(t, harness.ExitLost, exit, errs)
	require.Contains(t, errs, "the lease was lost")
}
