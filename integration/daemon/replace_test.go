package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// replace runs jvsfs mount --replace with the options of the mount. It returns the daemons that
// were there before.
func replace(m *harness.Mount) (before []int) {
	m.T.Helper()
	before = m.Daemons()
	extra := m.Opts.Extra
	m.Opts.Extra = append(slices.Clone(extra), "--replace")
	m.Mount()
	m.Opts.Extra = extra
	return before
}

// gone waits until processes have ended.
func gone(m *harness.Mount, what string, pids []int) {
	m.T.Helper()
	harness.Eventually(m.T, what, func() bool {
		for _, pid := range pids {
			if s := harness.ProcState(pid); s != "" && s != "Z" && s != "X" {
				return false
			}
		}
		return true
	})
}

// TestNoCallOfTheHolderFailsDuringReplacements: the daemon is replaced again and again, and nobody notices: no call of the
// holder fails, none of the stranger succeeds, and old daemons end when nothing is open there.
func TestNoCallOfTheHolderFailsDuringReplacements(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	peers := propagate(m, unix.MS_SHARED)
	m.Mount()
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	before := m.Acquire(holder)
	held := startHammer(t, holder, m.At("held"), m.At("f"), filepath.Join(m.Base, "stop-holder"))
	strange := startHammer(t, stranger, m.At("strange"), m.At("f"), filepath.Join(m.Base, "stop-stranger"))
	for range harness.Rounds(10) {
		old := replace(m)
		gone(m, "the old daemon has ended", old)
		require.Len(t, stack(m), 1)
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
	}
	seen, other := held.end(), strange.end()
	t.Log(seen, other)
	for what := range seen {
		require.Contains(t, []string{"write ", "read "}, what)
	}
	for what := range other {
		require.Contains(t, []string{"write EROFS", "read "}, what)
	}
	require.Len(t, harness.ReadText(t, m.Behind("held")), 2*seen["write "])
	for _, peer := range peers {
		require.FileExists(t, filepath.Join(peer, "held"))
	}
	m.Unmount() // before its carrier goes
}

// TestFilesOpenAtAReplacedDaemonStayUnderTheirToken: files that are open at the old daemon stay there, for much longer than a lease, under the
// same token. The end of the lease ends both.
func TestFilesOpenAtAReplacedDaemonStayUnderTheirToken(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f", "g")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	before := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := replace(m)
	renewed := before.RenewedAt
	harness.Eventually(t, "it was renewed for longer than a lease", func() bool {
		a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("x")})
		a.OK(m.Put("g"))
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
		return r.RenewedAt.Sub(renewed) > 3*harness.Hasty.Lease
	})
	require.Equal(t, 2, len(m.Daemons()))
	exit, errs := m.TryLock("acquire", b)
	require.Equal(t, harness.ExitConflict, exit, errs)
	m.Release(a)
	harness.EventuallyNoted(t, "another acquires", func() (bool, string) { exit, errs := m.TryLock("acquire", b); return exit == 0, errs })
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.Fails(m.Put("g"), "EROFS")
	b.OK(m.Put("g"))
	a.OK(harness.Command{Op: "close", Handle: "f"})
	gone(m, "the old daemon has ended", old)
	b.OK(m.Put("g"))
}

// Files that were opened before several replacements stay with the daemon of then, which follows the newest one.
func TestFilesOpenBeforeSeveralReplacementsStayUnderTheirToken(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f0", "f1", "f2", "g")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	before := m.Acquire(a)
	var old []int
	for i := range 3 { // the middle one has nothing open, and ends
		if i != 1 {
			name := fmt.Sprint("f", i)
			a.OK(harness.Command{Op: "open", Handle: name, Path: m.At(name), Flags: unix.O_RDWR})
		}
		of := replace(m)
		if i == 1 {
			last := of[slices.IndexFunc(of, func(pid int) bool { return !slices.Contains(old, pid) })]
			gone(m, "the daemon of nobody's files has ended", []int{last})
			continue
		}
		old = append(old, of...)
	}
	require.Len(t, m.Daemons(), 3)
	_, since := m.HeadClaim("")
	harness.Eventually(t, "it was renewed for longer than a lease", func() bool {
		for _, name := range []string{"f0", "f2"} {
			a.OK(harness.Command{Op: "write", Handle: name, Data: []byte("x")})
		}
		a.OK(m.Put("g"))
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
		return r.RenewedAt.Sub(since.RenewedAt) > harness.Hasty.Lease
	})
	a.OK(harness.Command{Op: "close", Handle: "f2"})
	_, said, exit := m.CLI("lock", "handover", "--to-pid", harness.PIDOf(b), m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit, said)
	require.Contains(t, said, "files are open through the daemon that was replaced")
	m.Release(a)
	harness.EventuallyNoted(t, "another acquires", func() (bool, string) { exit, errs := m.TryLock("acquire", b); return exit == 0, errs })
	a.Fails(harness.Command{Op: "write", Handle: "f0", Data: []byte("late")}, "EROFS")
	b.OK(m.Put("g"))
	a.OK(harness.Command{Op: "close", Handle: "f0"})
	gone(m, "the old daemons have ended", old)
}

// Who stands in the mount that is replaced has a working directory without a path.
func TestReplaceNamesProcessesInTheReplacedMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	stands := m.Start("sh", "-c", "cd "+m.Mountpoint+" && exec sleep 1000")
	harness.Eventually(t, "it stands there", func() bool {
		at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", stands.PID()))
		return err == nil && at == m.Mountpoint
	})
	old := m.Daemons()
	_, said, exit := m.CLI("mount", "--replace", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile())
	require.Zero(t, exit, said)
	require.Contains(t, said, "stand in the mount that was replaced")
	require.Regexp(t, fmt.Sprintf(`(?m)^%d +cwd +`, stands.PID()), said)
	stands.Kill()
	gone(m, "the old daemon has ended", old)
}

// A holder that also writes through the old mount is not the only writer of the new one: nothing is
// believed for long there before the old one has ended.
func TestNothingIsCachedForLongUntilTheReplacedDaemonEnds(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s"))
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	require.LessOrEqual(t, m.Lookups(m.At("f"), harness.Looks), uint64(1), "held")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := replace(m)
	require.GreaterOrEqual(t, m.Lookups(m.At("f"), harness.Looks), uint64(harness.Looks), "held through two mounts")
	a.OK(harness.Command{Op: "close", Handle: "f"})
	gone(m, "the old daemon has ended", old)
	harness.Eventually(t, "the new mount has the only writer", func() bool { return m.Lookups(m.At("f"), harness.Looks) <= 1 })
}

// The new daemon is killed while files are open at the old one: the lease goes on with the next.
func TestALeaseGoesOnWhenTheReplacingDaemonIsKilledAndRecovered(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f", "g")})
	a := harness.StartActor(t, "a")
	before := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := replace(m)
	for _, pid := range m.Daemons() {
		if pid != old[0] {
			require.NoError(t, unix.Kill(pid, unix.SIGKILL))
			gone(m, "it is gone", []int{pid})
		}
	}
	m.Recover()
	a.OK(m.Put("g"))
	_, r := m.HeadClaim("")
	require.Equal(t, before.Token, r.Token)
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS") // its leader has ended
	a.OK(harness.Command{Op: "close", Handle: "f"})
	gone(m, "the old daemon has ended", old)
}

// TestAFailedReplacementLeavesTheOldDaemonServing: the new daemon ends before it has taken the place. The old one continues as before.
func TestAFailedReplacementLeavesTheOldDaemonServing(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	before := m.Acquire(a)
	successor, end := retire(m)
	exit, errs := m.TryLock("renew", a)
	require.Equal(t, harness.ExitBusy, exit, errs)
	require.Contains(t, errs, "just being replaced")
	a.OK(m.Put("f")) // the fence is open meanwhile
	end()
	harness.EventuallyNoted(t, "it renews again", func() (bool, string) {
		exit, errs := m.TryLock("renew", a)
		return exit == 0, errs
	})
	_, r := m.HeadClaim("")
	require.Equal(t, before.Token, r.Token)
	a.OK(m.Put("f"))
	m.MustCLI("umount", "--bare", successor.Mountpoint)
}

// The new daemon is killed in the middle. Either the old one goes on, over a dead mount that is of
// no use to anybody, or the place is the new one's already, and is recovered.
func TestAReplacementKilledInTheMiddleLeavesADaemonOrAMountToRecover(t *testing.T) {
	for range harness.Rounds(5) {
		m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
		a := harness.StartActor(t, "a")
		before := m.Acquire(a)
		old := m.Daemons()
		next := m.Start(m.Bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--foreground", "--replace")
		for end := time.Now().Add(200 * time.Millisecond); len(stack(m)) < 2 && time.Now().Before(end); {
		}
		require.NoError(t, unix.Kill(next.PID(), unix.SIGKILL))
		next.Wait()
		if out, errs, exit := m.CLI("recover", m.Mountpoint); exit == 0 {
			t.Log("the place was the new one's", out)
			gone(m, "the old daemon has ended", old)
			a.OK(m.Put("f"))
		} else {
			require.Contains(t, errs, "is served already")
			harness.EventuallyNoted(t, "the old one renews", func() (bool, string) { exit, errs := m.TryLock("renew", a); return exit == 0, errs })
			a.OK(m.Put("f"))
			if m.Dead = len(stack(m)) == 2; m.Dead {
				require.Contains(t, secondOf(m.CLI("umount", m.Mountpoint)), "a dead mount of before lies at")
			}
			t.Log("the old one goes on; over a dead one:", m.Dead)
			m.RepairState() // a daemon that ended before its mount was seen leaves its state
		}
		_, r := m.HeadClaim("")
		require.Equal(t, before.Token, r.Token)
		m.Unmount()
		a.End()
	}
}

func secondOf(_, b string, _ int) string { return b }

// A daemon that is told to end while it is being replaced ends.
func TestADaemonEndsOnTERMDuringItsReplacement(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	first := m.Daemons()[:1]
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDONLY}) // the mount is busy
	successor, end := retire(m)
	require.NoError(t, unix.Kill(first[0], unix.SIGTERM))
	gone(m, "it has ended", first)
	m.Dead = true
	a.Do(harness.Command{Op: "close", Handle: "f"})
	end()
	m.MustCLI("umount", "--bare", successor.Mountpoint)
}

// retire asks the daemon to make way for another one, which never takes the place: end is its end.
func retire(m *harness.Mount) (successor *harness.Mount, end func()) {
	m.T.Helper()
	return retireFor(m, elsewhere)
}

// retireFor is retire for a daemon that is made just then: any that root may name.
func retireFor(m *harness.Mount, makes func(*harness.Mount) *harness.Mount) (successor *harness.Mount, end func()) {
	m.T.Helper()
	first := m.Daemons()
	successor = makes(m)
	conn, err := net.Dial("unix", socket(m, m.Mountpoint))
	require.NoError(m.T, err)
	dev := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(socket(m, successor.Mountpoint)), "dev-"), ".sock")
	_, err = fmt.Fprintf(conn, `{"version":1,"op":"retire","device":%q}`+"\n", strings.ReplaceAll(dev, "-", ":"))
	require.NoError(m.T, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(m.T, err)
	require.Contains(m.T, line, `"event":"result"`)
	require.NotContains(m.T, line, `"error"`)
	return successor, func() {
		require.NoError(m.T, conn.Close())
		for _, p := range m.Daemons() {
			if !slices.Contains(first, p) {
				_ = unix.Kill(p, unix.SIGKILL) // a command that has ended meanwhile is among them
				gone(m, "the new daemon has ended", []int{p})
			}
		}
	}
}

// socket is the control socket of the mount at a place.
func socket(m *harness.Mount, point string) string {
	m.T.Helper()
	var status struct {
		Mounts []struct{ Mountpoint, Device string }
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &status))
	for _, one := range status.Mounts {
		if one.Mountpoint == point {
			return "/run/jvsfs/dev-" + strings.ReplaceAll(one.Device, ":", "-") + ".sock"
		}
	}
	require.Fail(m.T, "no such mount", point)
	return ""
}

// Only root can replace a daemon, and only a mount that is served.
func TestReplaceIsRefusedToUsersAndForMountsThatAreNotServed(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	_, errs, exit := m.CLI("mount", "--replace", m.Base)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "no jvsfs mount to replace")
	_, errs, exit = m.CLI("mount", "--replace", m.Base, m.Mountpoint)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "only that can take its place")
	stranger := harness.StartActorAs(t, "stranger", harness.Identity{UID: 1234, GID: 1234})
	_, said := stranger.Run("/", "", fmt.Sprintf(`printf '{"version":1,"op":"retire","device":"0:1"}\n' | timeout %g nc -U -N %s || true`,
		harness.OnThisMachine(5*time.Second).Seconds(), socket(m, m.Mountpoint)))
	_ = said // nc is not everywhere; what counts is that the lease is still to be had
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	m.KillDaemon()
	_, errs, exit = m.CLI("mount", "--replace", m.Source, m.Mountpoint)
	require.Equal(t, harness.ExitDead, exit)
	require.Contains(t, errs, "jvsfs recover")
	m.Recover()
	a.OK(m.Put("f"))
}

// exec goes on over a replacement, and is told of the loss by the new daemon.
func TestExecOutlivesAReplacement(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec("echo 1 >" + m.At("f") + "; " + l.Tell("begun") + "; read x <" + l.Gate("go") + "; echo 2 >" + m.At("f") + "; " + l.Tell("written"))
	require.Equal(t, "0", l.Take("begun"))
	gone(m, "the old daemon has ended", replace(m))
	harness.Eventually(t, "exec has found its lease again", func() bool { return strings.Contains(harness.ReadText(t, b.File), "the lease continues") })
	l.Open("go")
	require.Equal(t, "0", l.Take("written"))
	exit, errs := b.Wait()
	require.Zero(t, exit, errs)
	_, r := m.HeadClaim("")
	require.True(t, r.Released)
	require.WithinDuration(t, time.Now(), r.ExpiresAt, harness.Patience)
}
