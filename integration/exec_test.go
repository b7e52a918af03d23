package integration

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// exitLost is the exit code of exec when the lease was lost meanwhile.
const exitLost = 75

func TestExecExitCodes(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
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
		_, r := m.headClaim("")
		require.True(t, r.Released, "after %v", c.argv)
	}
	require.FileExists(t, m.Behind("made"))
	_, errs, exit := m.CLI("exec", m.Mountpoint)
	require.Equal(t, 2, exit, errs)
}

// CMD, its children and theirs may write, in whatever session; nobody else.
func TestExecDescendants(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	stranger := startActor(t, "stranger")
	b := m.startExec("cd " + m.Mountpoint + "; echo 1 >one && sh -c 'echo 2 >two && sh -c \"echo 3 >three\"' && setsid -w sh -c 'echo 4 >four'; " +
		l.tell("written") + "; read x <" + l.gate("end"))
	require.Equal(t, "0", l.take("written"))
	stranger.fails(m.put("f"), "EROFS")
	exit, errs := m.tryLock("acquire", stranger)
	require.Equal(t, exitConflict, exit, errs)
	l.open("end")
	exit, errs = b.wait()
	require.Zero(t, exit, errs)
	for _, name := range []string{"one", "two", "three", "four"} {
		require.FileExists(t, m.Behind(name))
	}
}

// The lease ends with CMD: what it has left running writes no more, neither
// by path nor by a descriptor from before.
func TestExecOutlived(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	b := m.startExec("cd " + l.dir + "; setsid sh -c 'exec 5>>" + m.At("f") + "; echo ready; echo before >&5; " + l.tell("ready") +
		"; read x <" + l.gate("go") + "; echo late >" + m.At("late") + "; " + l.tell("path") + "; echo late >&5; " + l.tell("descriptor") +
		"' >/dev/null 2>&1 & read x <" + l.gate("end"))
	require.Equal(t, "0", l.take("ready"))
	l.open("end")
	exit, errs := b.wait()
	require.Zero(t, exit, errs)
	before := m.digest()
	l.open("go")
	require.NotEqual(t, "0", l.take("path"))
	require.NotEqual(t, "0", l.take("descriptor"))
	require.Empty(t, before.diff(m.digest()))
	require.NoFileExists(t, m.At("late"))
}

// A CMD that is stopped is not renewed. Its lease ends, another takes over,
// and when it runs again it is ended: exec tells by its exit code.
func TestExecStopped(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	l := newMail(m)
	next := startActor(t, "next")
	b := m.startExec("trap 'echo late >" + m.At("late") + "; " + l.tell("late") + "; exit 0' TERM; echo $$ >" + l.dir + "/pid; echo x >" + m.At("early") + "; " +
		l.tell("early") + "; while :; do read x <" + l.gate("never") + "; done")
	require.Equal(t, "0", l.take("early"))
	pid, err := strconv.Atoi(l.take("pid"))
	require.NoError(t, err)
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	m.steal(next)
	next.ok(m.put("f"))
	_ = unix.Kill(pid, unix.SIGCONT) // exec may have done so, and the process be gone
	exit, errs := b.wait()
	require.Equal(t, exitLost, exit, errs)
	require.Contains(t, errs, "the lease was lost")
	require.NotEqual(t, "0", l.take("late"))
	require.NoFileExists(t, m.Behind("late"))
	next.ok(m.put("f"))
}

// SIGKILL of exec ends CMD, and frees the lease long before it would expire.
func TestExecKilled(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	next := startActor(t, "next")
	b := m.startExec("echo $$ >" + l.dir + "/pid.tmp; mv " + l.dir + "/pid.tmp " + l.dir + "/pid; read x <" + l.gate("never"))
	pid, err := strconv.Atoi(l.take("pid"))
	require.NoError(t, err)
	exit, errs := m.tryLock("acquire", next)
	require.Equal(t, exitConflict, exit, errs)
	b.kill()
	eventuallyNoted(t, "the next may acquire", func() (bool, string) {
		exit, errs := m.tryLock("acquire", next)
		return exit == 0, errs
	})
	eventually(t, "CMD has ended", func() bool { return procState(pid) == "" || procState(pid) == "Z" })
	next.ok(m.put("f"))
}

// --wait is for the lease of somebody else: it is told for whom, and goes on
// as soon as the lease is free.
func TestExecWaits(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	m.acquire(a)
	_, errs, exit := m.CLI("exec", "--wait", "300ms", m.Mountpoint, "--", "touch", m.At("never"))
	require.Equal(t, exitConflict, exit, errs)
	require.Contains(t, errs, "waiting for")
	require.NoFileExists(t, m.Behind("never"))
	b := m.startExec("touch "+m.At("then"), "--wait", "15s")
	eventually(t, "exec waits", func() bool { return len(readText(t, b.file)) > 0 })
	m.release(a)
	exit, errs = b.wait()
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "waiting for")
	require.FileExists(t, filepath.Join(m.View, "then"))
}
