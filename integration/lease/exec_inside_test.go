package lease

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// CMD can tell what it holds, and name it to jvsfs.
func TestExecTellsItsCommandTheHolderAndTheToken(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	t.Setenv("JVSFS_TOKEN", "of another lease")
	said := m.MustCLI("exec", m.At("main", "f"), "--", "sh", "-c",
		`echo "$JVSFS_WORKTREE $JVSFS_MOUNT $JVSFS_HOLDER $JVSFS_TOKEN"; `+m.Bin+` lock renew "$JVSFS_WORKTREE"`)
	_, r := m.HeadClaim("main")
	held, renewed, _ := strings.Cut(said, "\n")
	require.Equal(t, strings.Join([]string{m.At("main"), m.Mountpoint, r.HolderID, r.Token.String()}, " "), held)
	require.Contains(t, renewed, "renewed main: token "+strconv.FormatUint(r.TokenNumber(t), 10))
}

// A script that takes the lease for its steps works inside of a command that has it: what it
// takes adds nothing, and what it gives back ends nothing.
func TestExecInsideExecEndsNoLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	run := m.Bin + " exec " + m.Mountpoint + " -- "
	for name, step := range map[string]string{
		"exec":            run + "touch " + m.At("inner"),
		"exec twice":      run + run + "touch " + m.At("inner"),
		"exec of another": "setsid -w " + run + "touch " + m.At("inner"),
		"acquire":         m.Bin + " lock acquire " + m.Mountpoint + " && touch " + m.At("inner") + " && " + m.Bin + " lock release " + m.Mountpoint,
	} {
		out, errs, exit := m.CLI("exec", m.Mountpoint, "--", "sh", "-ec", "("+step+"); touch "+m.At("after"))
		require.Zero(t, exit, "%s: %s%s", name, out, errs)
		require.FileExists(t, m.Behind("inner"), name)
		require.FileExists(t, m.Behind("after"), name)
		_, r := m.HeadClaim("")
		require.True(t, r.Released, name)
		m.MustCLI("exec", m.Mountpoint, "--", "rm", m.At("inner"), m.At("after"))
	}
	_, r := m.HeadClaim("")
	require.EqualValues(t, 8, r.TokenNumber(t), "one token for each of the outer commands")
}

// What is inside says its own exit code; a shell that has the lease keeps it.
func TestExecInsideAShellThatHoldsLeavesItTheLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	held := m.Acquire(a)
	exit, said := a.Run("/", "", m.Bin+" exec "+m.Mountpoint+" -- sh -c 'touch "+m.At("inner")+"; exit 7'")
	require.EqualValues(t, 7, exit, said)
	require.FileExists(t, m.Behind("inner"))
	a.OK(m.Put("f"))
	_, r := m.HeadClaim("")
	require.Equal(t, []any{held.Token, false}, []any{r.Token, r.Released})
	exit, said = b.Run("/", "", m.Bin+" exec "+m.Mountpoint+" -- touch "+m.At("stranger"))
	require.EqualValues(t, harness.ExitConflict, exit, said)
}

// The command inside is ended when the lease that it runs under is lost.
func TestAnInnerExecEndsItsCommandWhenTheOuterLeaseIsLost(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	line := m.Bin + " exec " + m.Mountpoint + " -- sh -c '" + l.Tell("in") + "; read x <" + l.Gate("never") + "'"
	end := a.Begin(harness.Command{Op: "run", Path: "/", Args: []string{"/bin/sh", "-c", line}})
	require.Equal(t, "0", l.Take("in"))
	m.MustCLI("lock", "release", "--pid", strconv.Itoa(a.PID()), m.Mountpoint)
	r := <-end
	require.EqualValues(t, harness.ExitLost, r.Vals[0], string(r.Data))
	require.Contains(t, string(r.Data), "the lease was lost (released)")
}

// Who means to end the lease of exec names its holder, and is ended with it.
func TestAReleaseByNameInsideExecEndsTheLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	out, errs, exit := m.CLI("exec", m.Mountpoint, "--", "sh", "-c", m.Bin+" lock release --json "+m.Mountpoint+"; "+
		m.Bin+" lock release "+m.Mountpoint+"; "+m.Bin+" lock release --pid $$ "+m.Mountpoint+"; sleep 600")
	require.Equal(t, harness.ExitLost, exit, out+errs)
	require.Contains(t, out, `"released": false`)
	require.Contains(t, out, "kept "+m.Mountpoint+": jvsfs exec holds the lease until its command ends")
	require.Contains(t, errs, "the lease was lost (released)")
}

// A shell that stood in the tree before it was mounted still stands in the bare tree. What exec
// runs from there stands in the mount, and is fenced when the lease is over.
func TestExecFromADirectoryBelowTheMountRunsItsCommandInTheMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithDir("d")})
	l := harness.NewMail(m)
	go1, go2 := l.Gate("mounted"), l.Gate("gone")
	shell := m.Start("sh", "-c", "cd "+m.At("main", "d")+"; "+l.Tell("stands")+"; read x <"+go1+"; "+
		m.Bin+" exec . -- sh -c 'echo x >made; pwd >"+l.Dir+"/pwd.tmp; mv "+l.Dir+"/pwd.tmp "+l.Dir+"/pwd; read x <"+go2+"; echo late >late; "+l.Tell("late")+"'")
	require.Equal(t, "0", l.Take("stands"))
	m.Mount()
	l.Open("mounted")
	require.Equal(t, m.At("main", "d"), l.Take("pwd"))
	require.FileExists(t, m.Behind("main", "d", "made"))
	m.MustCLI("enforce", m.Mountpoint, "readonly")
	l.Open("gone")
	require.NotEqual(t, "0", l.Take("late"))
	_, errs := shell.Wait()
	require.Contains(t, errs, "this shell stands beneath the mount: the command runs in "+m.At("main", "d"))
	require.NoFileExists(t, m.Behind("main", "d", "late"))
}

// Who counts as the holder by its user alone is not inside of the command that has the lease:
// it waits for its turn, as before, and is not ended with that.
func TestExecOfTheHoldingUserOutsideOfTheCommandWaitsForItsTurn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--scope", "user"}, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	first := m.StartExec(m.Bin + " exec " + m.Mountpoint + " -- touch " + m.At("inner") + "; " + l.Tell("inner") + "; read x <" + l.Gate("end"))
	require.Equal(t, "0", l.Take("inner"))
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "true")
	require.Equal(t, harness.ExitConflict, exit, errs)
	b := harness.StartActor(t, "b")
	exit, errs = m.TryLock("acquire", b)
	require.Equal(t, harness.ExitConflict, exit, errs)
	second := m.StartExec("touch "+m.At("second"), "--wait", "10m")
	harness.Eventually(t, "the second waits", func() bool { return len(harness.ReadText(t, second.File)) > 0 })
	l.Open("end")
	exit, errs = first.Wait()
	require.Zero(t, exit, errs)
	exit, errs = second.Wait()
	require.Zero(t, exit, errs)
	require.FileExists(t, m.Behind("second"))
}
