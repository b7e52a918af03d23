package lease

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestExecEndsWithTheExitCodeOfItsCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	for _, c := range []struct {
		exit int
		argv []string
	}{
		{0, []string{"true"}},
		{7, []string{"sh", "-c", "exit 7"}},
		{128 + 15, []string{"sh", "-c", "kill -TERM $$"}},
		{127, []string{"no-such-command"}},
		{127, []string{"/no/such/command"}},
		{126, []string{"/etc/passwd"}},
		{0, []string{"touch", m.At("made")}},
	} {
		out, errs, exit := m.CLI(append([]string{"exec", m.Mountpoint, "--"}, c.argv...)...)
		require.Equal(t, c.exit, exit, "%v: %s%s", c.argv, out, errs)
		_, r := m.HeadClaim("")
		require.True(t, r.Released, "after %v", c.argv)
	}
	require.FileExists(t, m.Behind("made"))
	_, errs, exit := m.CLI("exec", m.Mountpoint)
	require.Equal(t, harness.ExitUsage, exit, errs)
}

// CMD, its children and theirs may write, in whatever session; nobody else.
func TestExecLetsOnlyDescendantsOfItsCommandWrite(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	stranger := harness.StartActor(t, "stranger")
	b := m.StartExec("cd " + m.Mountpoint + "; echo 1 >one && sh -c 'echo 2 >two && sh -c \"echo 3 >three\"' && setsid -w sh -c 'echo 4 >four'; " +
		l.Tell("written") + "; read x <" + l.Gate("end"))
	require.Equal(t, "0", l.Take("written"))
	stranger.Fails(m.Put("f"), "EROFS")
	exit, errs := m.TryLock("acquire", stranger)
	require.Equal(t, harness.ExitConflict, exit, errs)
	l.Open("end")
	exit, errs = b.Wait()
	require.Zero(t, exit, errs)
	for _, name := range []string{"one", "two", "three", "four"} {
		require.FileExists(t, m.Behind(name))
	}
}

// The lease ends with exec, also if exec is killed. Processes that are left running then can write no
// more, neither by path nor by a descriptor from before.
func TestNothingThatOutlivesExecWrites(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec("cd " + l.Dir + "; setsid sh -c 'exec 5>>" + m.At("f") + "; echo ready; echo before >&5; " + l.Tell("ready") +
		"; read x <" + l.Gate("go") + "; echo late >" + m.At("late") + "; " + l.Tell("path") + "; echo late >&5; " + l.Tell("descriptor") +
		"' >/dev/null 2>&1 & read x <" + l.Gate("end"))
	require.Equal(t, "0", l.Take("ready"))
	b.Kill()
	harness.Eventually(t, "the lease is given back", func() bool { _, r := m.HeadClaim(""); return r.Released })
	before := m.Digest()
	l.Open("go")
	require.NotEqual(t, "0", l.Take("path"))
	require.NotEqual(t, "0", l.Take("descriptor"))
	require.Empty(t, before.Diff(m.Digest()))
	require.NoFileExists(t, m.At("late"))
}

// A CMD that is stopped is not renewed. Its lease ends, another takes over,
// and when it runs again it is ended: exec tells by its exit code.
func TestExecEndsAStoppedCommandThatLostItsLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	next := harness.StartActor(t, "next")
	b := m.StartExec("trap 'echo late >" + m.At("late") + "; " + l.Tell("late") + "; exit 0' TERM; echo $$ >" + l.Dir + "/pid; echo x >" + m.At("early") + "; " +
		l.Tell("early") + "; while :; do read x <" + l.Gate("never") + "; done")
	require.Equal(t, "0", l.Take("early"))
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	m.Steal(next)
	next.OK(m.Put("f"))
	_ = unix.Kill(pid, unix.SIGCONT) // exec may have done so, and the process be gone
	exit, errs := b.Wait()
	require.Equal(t, harness.ExitLost, exit, errs)
	require.Contains(t, errs, "the lease was lost")
	require.NotEqual(t, "0", l.Take("late"))
	require.NoFileExists(t, m.Behind("late"))
	next.OK(m.Put("f"))
}

// What is sent to exec is CMD's. USR1 and USR2 would end what CMD has started, and that gets none.
func TestExecPassesSignalsOn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	for _, s := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			ready := "ready" + unix.SignalName(s)
			b := m.StartExec(fmt.Sprintf("got=; trap got=1 %d; %s; while sleep 0.1 || :; do [ $got ] && exit 7; done", s, l.Tell(ready)))
			require.Equal(t, "0", l.Take(ready))
			require.NoError(t, unix.Kill(b.PID(), s))
			exit, said := b.Wait()
			require.Equal(t, 7, exit, said)
			if s == unix.SIGUSR1 || s == unix.SIGUSR2 {
				require.NotContains(t, said, "User defined signal", "its child was ended")
			}
		})
	}
}

// SIGKILL of exec ends CMD, and frees the lease long before it would expire.
func TestAKilledExecEndsItsCommandAndFreesTheLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	next := harness.StartActor(t, "next")
	b := m.StartExec("echo $$ >" + l.Dir + "/pid.tmp; mv " + l.Dir + "/pid.tmp " + l.Dir + "/pid; read x <" + l.Gate("never"))
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	exit, errs := m.TryLock("acquire", next)
	require.Equal(t, harness.ExitConflict, exit, errs)
	b.Kill()
	harness.EventuallyNoted(t, "the next may acquire", func() (bool, string) {
		exit, errs := m.TryLock("acquire", next)
		return exit == 0, errs
	})
	harness.Eventually(t, "CMD has ended", func() bool { return harness.ProcState(pid) == "" || harness.ProcState(pid) == "Z" })
	next.OK(m.Put("f"))
}

// CMD dies with the jvsfs that started it, whichever thread of that busy process forked it, and the lease ends.
func TestManyCommandsDieWithTheirExec(t *testing.T) {
	const many = 40
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny"})
	l := harness.NewMail(m)
	never := l.Gate("never")
	var all []*harness.Background
	for i := range many {
		id := fmt.Sprint("w", i)
		require.NoError(t, os.Mkdir(m.Behind("worktrees", id), 0o755))
		all = append(all, m.Start(m.Bin, "exec", m.At("worktrees", id), "--", "sh", "-c",
			"echo $$ >"+l.Dir+"/"+id+".tmp; mv "+l.Dir+"/"+id+".tmp "+l.Dir+"/"+id+"; read x <"+never))
	}
	var pids []int
	for i := range all {
		pid, err := strconv.Atoi(l.Take(fmt.Sprint("w", i)))
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	for _, b := range all {
		b.Kill()
	}
	harness.EventuallyNoted(t, "all of them have ended", func() (bool, string) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
			return harness.ProcState(pid) == "" || harness.ProcState(pid) == "Z"
		})
		return len(left) == 0, fmt.Sprint(left)
	})
}

// --wait waits while somebody else holds the lease: it says who, and continues as soon as the lease is free.
func TestExecWithWaitStartsWhenTheLeaseIsFree(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	_, errs, exit := m.CLI("exec", "--wait", "3s", m.Mountpoint, "--", "touch", m.At("never"))
	require.Equal(t, harness.ExitConflict, exit, errs)
	require.Contains(t, errs, "waiting for")
	require.NoFileExists(t, m.Behind("never"))
	b := m.StartExec("touch "+m.At("then"), "--wait", "10m")
	harness.Eventually(t, "exec waits", func() bool { return len(harness.ReadText(t, b.File)) > 0 })
	m.Release(a)
	exit, errs = b.Wait()
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "waiting for")
	require.FileExists(t, filepath.Join(m.View, "then"))
}
