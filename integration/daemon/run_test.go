package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// unmountedRun is a directory with a file that no mount serves yet, and a mail.
func unmountedRun(t *testing.T) (*harness.Mount, harness.Mail) {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: func(t testing.TB, dir string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("old\n"), 0o644))
	}})
	return m, harness.NewMail(m)
}

// startRun runs a line of shell by jvsfs run in the directory.
func startRun(m *harness.Mount, line string, options ...string) *harness.Background {
	m.T.Helper()
	argv := append([]string{m.Bin, "run"}, options...)
	return m.Start(append(argv, m.Source, "--", "sh", "-c", line)...)
}

func isMounted(m *harness.Mount) bool {
	return harness.TopType(m.T, m.Source) == "fuse.jvsfs"
}

// goesByItself waits for a mount that the daemon takes away by itself.
func goesByItself(m *harness.Mount) {
	m.T.Helper()
	harness.Eventually(m.T, "the mount goes", func() bool { return !isMounted(m) })
}

// One command guards a directory: it is mounted, others are refused, what changed is told, and the mount goes.
func TestRunMountsGuardsAndUnmountsADirectory(t *testing.T) {
	m, mail := unmountedRun(t)
	gate := mail.Gate("gate")
	b := startRun(m, "pwd; echo $JVSFS_MOUNT; echo new >f; touch g; "+mail.Tell("wrote")+"; cat "+gate+"; exit 3", "--name", "night build", "--diff")
	require.Equal(t, "0", mail.Take("wrote"))
	_, err := os.Create(filepath.Join(m.Source, "intruder"))
	require.ErrorIs(t, err, unix.EROFS)
	require.Contains(t, m.MustCLI("status"), "night build")
	_, text, exit := m.CLI("exec", m.Source, "--", "true")
	require.Equal(t, harness.ExitConflict, exit, text)
	mail.Open("gate")
	exit, said := b.Wait()
	require.Equal(t, 3, exit, said)
	require.False(t, isMounted(m), "gone when the run ends")
	require.Contains(t, said, m.Source+"\n"+m.Source+"\n", "the command runs in the directory, through the mount")
	require.Contains(t, said, "guarded: "+m.Source+": only this command and what it starts write there (mounted "+m.Source)
	require.Contains(t, said, "changed in "+m.Source+": 1 added, 1 changed\n  M f\n  A g\n")
	require.NoFileExists(t, filepath.Join(m.Source, "intruder"))
	left, err := filepath.Glob("/run/jvsfs/run-*")
	require.NoError(t, err)
	harness.Eventually(t, fmt.Sprint("no file of the count is left: ", left), func() bool {
		left, err := filepath.Glob("/run/jvsfs/run-*")
		return err == nil && len(left) == 0
	})
}

// What is refused to the command is said at its end.
func TestRunSaysWhatItsCommandWasRefused(t *testing.T) {
	m, mail := unmountedRun(t)
	gate, other := mail.Gate("gate"), mail.Gate("other")
	holder := startRun(m, mail.Tell("held")+"; cat "+gate)
	mail.Take("held")
	dir := filepath.Join(m.Base, "second")
	require.NoError(t, os.Mkdir(dir, 0o755))
	b := m.Start(m.Bin, "run", dir, "--", "sh", "-c", "touch "+filepath.Join(m.Source, "x")+"; "+mail.Tell("tried")+"; cat "+other)
	require.Equal(t, "1", mail.Take("tried"))
	mail.Open("other")
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, said, "1 write of touch was refused in "+m.Source)
	mail.Open("gate")
	exit, said = holder.Wait()
	require.Zero(t, exit, said)
	require.False(t, isMounted(m))
	require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, dir))
}

// A mount that was there before stays, and so does one above.
func TestRunLeavesAMountThatWasThere(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true})
	out, errs, exit := m.CLI("run", m.At("main"), "--", "sh", "-c", "echo x >f; pwd")
	require.Zero(t, exit, errs)
	require.Equal(t, m.At("main")+"\n", out)
	require.Contains(t, errs, "mount "+m.Mountpoint+", token")
	require.True(t, isMounted(m))
	require.FileExists(t, m.Behind("main", "f"))
	left, err := filepath.Glob("/run/jvsfs/run-*")
	require.NoError(t, err)
	require.Empty(t, left, "the run counts itself no more")
}

// The second run uses the mount of the first, outlives it, and takes the mount away.
func TestTheLastRunTakesTheMountAway(t *testing.T) {
	m, mail := unmountedRun(t)
	one, two := mail.Gate("one"), mail.Gate("two")
	first := startRun(m, mail.Tell("first")+"; cat "+one)
	mail.Take("first")
	second := startRun(m, mail.Tell("second")+"; echo x >late; cat "+two, "--wait", "10m")
	mail.Open("one")
	exit, said := first.Wait()
	require.Zero(t, exit, said)
	mail.Take("second")
	require.True(t, isMounted(m))
	require.NotContains(t, said, "stays", "another run uses it: that is nobody's concern")
	mail.Open("two")
	exit, said = second.Wait()
	require.Zero(t, exit, said)
	require.False(t, isMounted(m))
	require.FileExists(t, filepath.Join(m.Source, "late"))
}

// Runs that end and begin at the same time find a living mount, or make a new one.
func TestRunsThatBeginWhileOthersEndFindALivingMount(t *testing.T) {
	m, _ := unmountedRun(t)
	const lanes = 4
	each := harness.Rounds(6)
	var all []*harness.Background
	for lane := range lanes {
		line := fmt.Sprintf(`for i in $(seq %d); do "$0" run --wait 10m %s -- sh -c "echo $i >>lane%d" || exit 9; done`, each, m.Source, lane)
		all = append(all, m.Start("sh", "-c", line, m.Bin))
	}
	for lane, b := range all {
		exit, said := b.Wait()
		require.Zero(t, exit, said)
		require.Equal(t, each, strings.Count(said, "guarded: "), said)
		text, err := os.ReadFile(filepath.Join(m.Source, fmt.Sprint("lane", lane)))
		require.NoError(t, err)
		require.Equal(t, each, strings.Count(string(text), "\n"))
	}
	goesByItself(m)
}

// A run that is killed leaves its mount for a moment: the daemon sees that nobody uses it.
func TestTheMountOfAKilledRunIsUnmounted(t *testing.T) {
	m, mail := unmountedRun(t)
	b := startRun(m, mail.Tell("held")+"; exec sleep 1000") // it is CMD itself, which ends with the run
	mail.Take("held")
	require.True(t, isMounted(m))
	b.Kill()
	goesByItself(m)
	out, errs, exit := m.CLI("run", m.Source, "--", "cat", "f")
	require.Zero(t, exit, errs)
	require.Equal(t, "old\n", out)
}

// Whoever stands in the mount keeps it. The run says who, and the mount goes when they have left.
func TestABusyMountOfARunIsUnmountedWhenItIsLeft(t *testing.T) {
	m, mail := unmountedRun(t)
	one, two := mail.Gate("one"), mail.Gate("two")
	b := startRun(m, mail.Tell("held")+"; cat "+one)
	mail.Take("held")
	m.Start("sh", "-c", "cd "+m.Source+"; "+mail.Tell("inside")+"; cat "+two)
	require.Equal(t, "0", mail.Take("inside"))
	mail.Open("one")
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, said, "the mount at "+m.Source+" stays: it goes when these processes have left it\n")
	require.Contains(t, said, "cwd")
	require.True(t, isMounted(m))
	mail.Open("two")
	goesByItself(m)
}

// A lease that somebody has taken on purpose keeps the mount of a run, too.
func TestTheMountOfARunStaysWhileALeaseIsHeld(t *testing.T) {
	m, mail := unmountedRun(t)
	one, two := mail.Gate("one"), mail.Gate("two")
	b := startRun(m, mail.Tell("held")+"; cat "+one)
	mail.Take("held")
	e := m.StartExec(mail.Tell("next")+"; cat "+two+"; echo x >"+filepath.Join(m.Source, "more"), "--wait", "10m")
	harness.Eventually(t, "exec waits", func() bool {
		text, err := os.ReadFile(e.File)
		return err == nil && strings.Contains(string(text), "waiting for")
	})
	mail.Open("one")
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, said, "the mount at "+m.Source+" stays for now: ")
	mail.Take("next")
	mail.Open("two")
	exit, said = e.Wait()
	require.Zero(t, exit, said)
	require.FileExists(t, filepath.Join(m.Source, "more"))
	goesByItself(m)
}

// The mount of a run is recovered as what it was: it goes with the last run, which goes on meanwhile.
func TestARecoveredMountOfARunIsUnmountedWithTheLastRun(t *testing.T) {
	m, mail := unmountedRun(t)
	gate := mail.Gate("gate")
	b := startRun(m, mail.Tell("held")+"; cat "+gate+"; echo x >"+filepath.Join(m.Source, "after"))
	mail.Take("held")
	pid := daemonOf(t, m)
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	harness.Eventually(t, "the daemon is gone", func() bool { return harness.ProcState(pid) == "" })
	m.MustCLI("recover", m.Source)
	mail.Open("gate")
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	require.FileExists(t, filepath.Join(m.Source, "after"))
	goesByItself(m)
}

// daemonOf is the process of the daemon, from status.
func daemonOf(t *testing.T, m *harness.Mount) int {
	t.Helper()
	var all struct{ Mounts []struct{ PID int } }
	harness.RequireJSON(t, m.MustCLI("status", "--json"), &all)
	require.Len(t, all.Mounts, 1)
	return all.Mounts[0].PID
}

// Signals, exit codes and mistakes are those of exec.
func TestRunEndsWithTheExitCodeOfItsCommand(t *testing.T) {
	m, mail := unmountedRun(t)
	for line, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 128 + int(unix.SIGTERM)} {
		_, errs, exit := m.CLI("run", m.Source, "--", "sh", "-c", line)
		require.Equal(t, want, exit, errs)
	}
	_, errs, exit := m.CLI("run", m.Source, "--", "./no such command")
	require.Equal(t, 127, exit, errs)
	require.Contains(t, errs, "no such file or directory")
	_, errs, exit = m.CLI("run", m.Source, "--", "./f")
	require.Equal(t, 126, exit, errs)
	_, errs, exit = m.CLI("run", filepath.Join(m.Source, "f"), "--", "true")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is not a directory")

	b := startRun(m, "trap 'echo caught; exit 5' INT; "+mail.Tell("held")+"; while :; do sleep 0.05; done")
	mail.Take("held")
	require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
	exit, said := b.Wait()
	require.Equal(t, 5, exit, said)
	require.Contains(t, said, "caught")
	require.False(t, isMounted(m))
}

// What a command leaves running is ended before the mount goes. A run within a run uses the lease of the outer one.
func TestARunEndsWhatItsCommandLeavesAndAnInnerRunUsesItsLease(t *testing.T) {
	m, _ := unmountedRun(t)
	_, errs, exit := m.CLI("run", m.Source, "--", "sh", "-c", m.Bin+` run -- sh -c "echo inner >f; exit 4"; test $? = 4 || exit 9; setsid sleep 1000 <f & exit 0`)
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "under the lease that is held already")
	require.False(t, isMounted(m), errs)
	text, err := os.ReadFile(filepath.Join(m.Source, "f"))
	require.NoError(t, err)
	require.Equal(t, "inner\n", string(text))
	require.Contains(t, errs, "ending what the command has left running")
}

// A process that was in the directory before is named: it writes past the mount. Those that wait for the run are not.
func TestRunNamesWhoWritesPastItsMount(t *testing.T) {
	m, mail := unmountedRun(t)
	gate := mail.Gate("gate")
	b := m.Start("sh", "-c", "cd "+m.Source+"; "+mail.Tell("inside")+"; cat "+gate)
	mail.Take("inside")
	r := harness.Workshop{T: t, Dir: m.Source}.Run(m.Bin, "run", "--", "true")
	require.Zero(t, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "their writes are not fenced")
	require.Contains(t, r.Errs, strconv.Itoa(b.PID())+" ")
	require.NotContains(t, r.Errs, "the shell that you run this in")
	mail.Open("gate")
	exit, said := b.Wait()
	require.Zero(t, exit, said)
	r = harness.Workshop{T: t, Dir: m.Source}.Run("sh", "-c", `"$0" run -- true; true`, m.Bin)
	require.NotContains(t, r.Errs, "their writes are not fenced", "its own shell waits for it")
}

// A user who can mount nothing is told so, and uses what is mounted.
func TestAUserRunsInAMountThatIsThere(t *testing.T) {
	m, _ := unmountedRun(t)
	require.NoError(t, os.Chown(m.Source, 65534, 65534))
	user := harness.Workshop{T: t, Dir: m.Source, Env: []string{"PATH=" + os.Getenv("PATH")},
		Prefix: []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}}
	r := user.Run(m.Bin, "run", m.Source, "--", "touch", "mine")
	require.NotZero(t, r.Exit)
	require.Contains(t, r.Errs, "jvsfs keeps nothing of nobody")
	require.Contains(t, r.Errs, "next: ")
	require.False(t, isMounted(m))
	m.Mount()
	r = user.Run(m.Bin, "run", "--diff", m.Source, "--", "touch", "mine")
	require.Zero(t, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "changed in "+m.Source+": 1 added\n  A mine\n")
	require.True(t, isMounted(m))
}

// A user runs in a directory of his own, without root. Runs at once share the mount, which goes with the last.
func TestAUserRunsWithoutRoot(t *testing.T) {
	u := harness.NewUnprivileged(t)
	_, errs := u.Must("git init -q -b main ~/team && cd ~/team && echo 1 >f && git add f && git commit -q -m one && jvsfs run --diff -- sh -c 'echo 2 >f'")
	require.Contains(t, errs, "guarded: ")
	require.Contains(t, errs, "changed in "+u.Home+"/team: 1 changed\n")
	u.Must(`cd ~/team && git checkout -q f && for n in 1 2 3; do
		jvsfs run --worktree w$n -- sh -c "echo w$n >f && git commit -q -a -m $n" 2>~/said.$n & all="$all $!"; done
		for p in $all; do wait $p || { cat ~/said.*; exit 1; }; done`)
	said, _ := u.Must("cat ~/said.*")
	require.NotContains(t, said, "their writes are not fenced", "the other runs do not write past the mount")
	out, _ := u.Must("git -C ~/team log --format=%s w1 w2 w3 | sort | xargs")
	require.Equal(t, "1 2 3 one\n", out)
	harness.EventuallyNoted(t, "the mount has gone", func() (bool, string) {
		out, _ := u.Must("jvsfs status")
		return strings.Contains(out, "no jvsfs mounts"), out
	})
}
