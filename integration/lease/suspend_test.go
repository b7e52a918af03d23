package lease

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// pauser stops processes together and lets them continue, as a closed lid does.
type pauser interface {
	pause(t *testing.T, pids []int)
	wake(t *testing.T, pids []int)
}

// bySignal continues them in the order of the list, or in the opposite one.
type bySignal struct{ backwards bool }

func (bySignal) pause(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
		harness.Eventually(t, "it is stopped", func() bool { return harness.ProcState(pid) == "T" })
	}
}

func (s bySignal) wake(t *testing.T, pids []int) {
	t.Helper()
	pids = slices.Clone(pids)
	if s.backwards {
		slices.Reverse(pids)
	}
	for _, pid := range pids {
		require.NoError(t, unix.Kill(pid, unix.SIGCONT))
	}
}

func (f freezer) pause(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644))
	}
	f.set(t, f.frozen)
	harness.Eventually(t, "the group is frozen", func() bool {
		text, err := os.ReadFile(filepath.Join(f.dir, "cgroup.events"))
		return err != nil || strings.Contains(string(text), "frozen 1") // version 1 has no such file, and waits in the write
	})
}

func (f freezer) wake(t *testing.T, pids []int) {
	t.Helper()
	f.set(t, f.thaw)
	root := filepath.Join(filepath.Dir(f.dir), "cgroup.procs")
	for _, pid := range pids {
		require.NoError(t, os.WriteFile(root, []byte(strconv.Itoa(pid)), 0o644))
	}
}

// pausers are the ways to pause; the processes are always listed as daemon first.
func pausers(t *testing.T) map[string]pauser {
	t.Helper()
	all := map[string]pauser{"stopped, the daemon wakes first": bySignal{}, "stopped, the holder wakes first": bySignal{backwards: true}}
	for name, f := range freezers(t) {
		all["frozen "+name] = f
	}
	return all
}

// A lid is closed: the daemon and all holders sleep for longer than the lease. Nobody could take it
// meanwhile. So the session writes again, what it has open goes on, and what it had stored is there.
func TestAHolderByWritingGoesOnAfterASuspendLongerThanItsLease(t *testing.T) {
	suspended(t, func(*harness.Mount, *harness.Actor) {}) // the lease is taken by writing
}

func TestAHolderOnPurposeGoesOnAfterASuspendLongerThanItsLease(t *testing.T) {
	suspended(t, func(m *harness.Mount, a *harness.Actor) { m.Acquire(a) })
}

func suspended(t *testing.T, take func(*harness.Mount, *harness.Actor)) {
	t.Helper()
	for how, p := range pausers(t) {
		t.Run(how, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mapped")})
			a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
			take(m, a)
			openBoth(m, a)
			_, first := m.HeadClaim("")
			lid := append(m.Daemons(), a.PID())
			p.pause(t, lid)
			m.AwaitStealable("")
			p.wake(t, lid)
			goesOn(m, a, first)
			b.Fails(m.Put("b"), "EROFS")
			require.Zero(t, m.EventTypes(m.Mountpoint)["lock_expire"], "it was never over")
		})
	}
}

func openBoth(m *harness.Mount, a *harness.Actor) {
	a.T.Helper()
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY | unix.O_TRUNC})
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("before ")})
	a.OK(harness.Command{Op: "open", Handle: "mapped", Path: m.At("mapped"), Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "mmap", Handle: "mapped", Name: "mapped", Len: 4096})
	a.OK(harness.Command{Op: "store", Name: "mapped", Data: []byte("STORED BEFORE")})
}

// goesOn demands that the holder of a lease goes on under a later token, with its first try, with what
// it has open, and that people are told.
func goesOn(m *harness.Mount, a *harness.Actor, first harness.Record) {
	t := m.T
	t.Helper()
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("after")})
	require.Equal(t, "before after", harness.ReadText(t, m.Behind("f")))
	a.OK(m.Put("by path"))
	a.OK(harness.Command{Op: "msync", Name: "mapped"})
	require.Contains(t, harness.ReadText(t, m.Behind("mapped")), "STORED BEFORE")
	a.OK(harness.Command{Op: "store", Name: "mapped", Data: []byte("STORED AFTER, TOO")})
	a.OK(harness.Command{Op: "msync", Name: "mapped"})
	require.Contains(t, harness.ReadText(t, m.Behind("mapped")), "STORED AFTER, TOO")

	_, now := m.HeadClaim("")
	require.Greater(t, now.TokenNumber(t), first.TokenNumber(t), "a token does not go on after its end")
	require.Equal(t, first.HolderID, now.HolderID)
	w := m.WorktreeStatus("source")
	require.Equal(t, "held", w.State)
	require.Zero(t, w.Revoked)
	require.EqualValues(t, 2, w.WriteHandles)
	said := fmt.Sprintf("the same holder went on after a pause (its tokens are %s to %s): nobody had taken the lease", first.Token, now.Token)
	require.Equal(t, said, w.Detail)
	require.Contains(t, m.MustCLI("status"), "source: "+said)
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint), said)
	require.Positive(t, m.EventTypes(m.Mountpoint)["lock_resume"])
	require.Contains(t, m.MustCLI("audit", "tail", m.Mountpoint), "the same holder goes on after a pause: its lease had ended")
}

// A debugger stops the holder alone. Its lease ends in time, for others; it goes on if nobody has taken it.
func TestAHolderThatADebuggerStoppedGoesOn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mapped")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	openBoth(m, a)
	_, first := m.HeadClaim("")
	a.Stop()
	awaitExpired(m)
	require.Contains(t, harness.ReadText(t, m.Behind("mapped")), "STORED BEFORE", "written back while the lease lasted")
	a.Resume()
	goesOn(m, a, first)
	b.Fails(m.Put("b"), "EROFS")
}

// awaitExpired waits until the fence has ended the lease, though it may not be stolen yet.
func awaitExpired(m *harness.Mount) {
	m.T.Helper()
	harness.Eventually(m.T, "the lease is over", func() bool { return m.EventTypes(m.Mountpoint)["lock_expire"] > 0 })
}

// Where anybody took over, all is as ever: nothing of the holder lands, and it stays out. That is so
// through another mount, too, and without one.
func TestAPausedHolderWhoseLeaseWasTakenOverIsRefused(t *testing.T) {
	for who, steal := range map[string]func(m, second *harness.Mount, next *harness.Actor){
		"through the same mount": func(m, _ *harness.Mount, next *harness.Actor) { m.Steal(next) },
		"through another mount":  func(_, second *harness.Mount, next *harness.Actor) { second.Steal(next) },
	} {
		t.Run(who, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mapped")})
			second := m.Second()
			a, next := harness.StartActor(t, "a"), harness.StartActor(t, "next")
			openBoth(m, a)
			a.Stop()
			steal(m, second, next)
			before := m.Digest()
			a.Resume()
			a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
			a.Fails(m.Put("by path"), "EROFS")
			require.Empty(t, before.Diff(m.Digest()))
			require.Zero(t, m.EventTypes(m.Mountpoint)["lock_resume"])
		})
	}
}

// While the daemon sleeps with its holder it has the gate, so nobody can take over. A thief is refused
// then, and afterwards, for the holder goes on.
func TestAStealIsRefusedWhileTheHoldersDaemonIsPaused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mapped")})
	daemon := m.Daemons()
	second := m.Second()
	a, thief := harness.StartActor(t, "a"), harness.StartActor(t, "thief")
	openBoth(m, a)
	_, first := m.HeadClaim("")
	lid := append(daemon, a.PID())
	bySignal{}.pause(t, lid)
	m.AwaitStealable("")
	exit, errs := second.TryLock("steal", thief)
	require.Equal(t, harness.ExitConflict, exit, errs)
	bySignal{}.wake(t, lid)
	goesOn(m, a, first)
	exit, errs = second.TryLock("steal", thief)
	require.Equal(t, harness.ExitConflict, exit, errs)
}

// exec need not end its command: what that has open goes on, its lease is that of exec still, and exec
// gives it back at the end.
func TestExecGoesOnAfterAPause(t *testing.T) {
	for how, p := range pausers(t) {
		t.Run(how, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
			l := harness.NewMail(m)
			b, lid := startLongExec(t, m, l)
			_, first := m.HeadClaim("")
			lid = append(m.Daemons(), lid...)
			p.pause(t, lid)
			m.AwaitStealable("")
			p.wake(t, lid)
			endLongExec(t, m, l, b, first)
		})
	}
}

func TestExecGoesOnAfterItsCommandWasStopped(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b, pids := startLongExec(t, m, l)
	_, first := m.HeadClaim("")
	require.NoError(t, unix.Kill(pids[1], unix.SIGSTOP))
	awaitExpired(m)
	m.AwaitStealable("")
	require.NoError(t, unix.Kill(pids[1], unix.SIGCONT))
	endLongExec(t, m, l, b, first)
}

// startLongExec runs a command by exec that waits at the gate "go" with a file open. pids are those of
// exec and its command.
func startLongExec(t *testing.T, m *harness.Mount, l harness.Mail) (b *harness.Background, pids []int) {
	t.Helper()
	b = m.StartExec("exec 5>" + m.At("f") + "; echo before >&5; echo $$ >" + l.Dir + "/pid.tmp; mv " + l.Dir + "/pid.tmp " + l.Dir + "/pid; " +
		"read x <" + l.Gate("go") + "; echo after >&5; " + l.Tell("handle") + "; echo path >" + m.At("path") + "; " + l.Tell("path") + "; " +
		m.Bin + " lock release " + m.Mountpoint + " >" + l.Dir + "/inside 2>&1; echo still >" + m.At("still") + "; exit 7")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	return b, []int{b.PID(), pid}
}

func endLongExec(t *testing.T, m *harness.Mount, l harness.Mail, b *harness.Background, first harness.Record) {
	t.Helper()
	l.Open("go")
	require.Equal(t, "0", l.Take("handle"))
	require.Equal(t, "0", l.Take("path"))
	exit, errs := b.Wait()
	require.Equal(t, 7, exit, errs)
	require.NotContains(t, errs, "lost")
	require.Equal(t, "before\nafter\n", harness.ReadText(t, m.Behind("f")))
	require.FileExists(t, m.Behind("still"), "a release inside of exec ends nothing: %s", harness.ReadText(t, filepath.Join(l.Dir, "inside")))
	_, now := m.HeadClaim("")
	require.Greater(t, now.TokenNumber(t), first.TokenNumber(t))
	require.True(t, now.Released)
	require.Equal(t, first.HolderID, now.HolderID)
}

// Without a mount exec itself keeps the lease, and sleeps with its command.
func TestExecWithoutAMountGoesOnAfterAPause(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	config := m.WriteConfig("policy.yaml", harness.Hasty.YAML())
	b := m.Start(m.Bin, "exec", "--control", m.LockDir, "--config", config, m.Source, "--", "sh", "-c",
		"echo $$ >"+l.Dir+"/pid.tmp; mv "+l.Dir+"/pid.tmp "+l.Dir+"/pid; read x <"+l.Gate("go")+"; exit 7")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	_, first := m.HeadClaim("")
	lid := []int{b.PID(), pid}
	bySignal{}.pause(t, lid)
	m.AwaitStealable("")
	bySignal{}.wake(t, lid)
	harness.Eventually(t, "it goes on", func() bool { _, now := m.HeadClaim(""); return now.TokenNumber(t) > first.TokenNumber(t) })
	l.Open("go")
	exit, errs := b.Wait()
	require.Equal(t, 7, exit, errs)
}
