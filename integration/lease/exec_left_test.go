package lease

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// daemonised is a line of shell in a process that has lost its parent, in a session of its own.
func daemonised(line string) string { return "(setsid sh -c '" + line + "' >/dev/null 2>&1 &); " }

// What CMD starts belongs to it, whatever ties it has cut. Nobody else becomes a member by that.
func TestADoubleForkOfAnExecCommandMayWrite(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec(daemonised("read x <"+l.Gate("go")+"; echo x >"+m.At("forked")+"; "+l.Tell("forked")) +
		l.Tell("begun") + "; read x <" + l.Gate("end"))
	stranger := harness.StartActor(t, "stranger")
	require.Equal(t, "0", l.Take("begun"))
	l.Open("go")
	require.Equal(t, "0", l.Take("forked"))
	stranger.Fails(m.Put("f"), "EROFS")
	l.Open("end")
	exit, errs := b.Wait()
	require.Zero(t, exit, errs)
	require.FileExists(t, m.Behind("forked"))
}

// What CMD leaves running is ended, and can save what it has: the lease is held so long.
func TestExecEndsTheProcessesThatItsCommandLeaves(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec(daemonised("trap \"echo x >"+m.At("saved")+"; exit\" TERM; echo $$ >"+l.Dir+"/pid.tmp; mv "+l.Dir+"/pid.tmp "+l.Dir+"/pid; while :; do read x <"+l.Gate("never")+"; done") +
		"read x <" + l.Gate("end") + "; exit 7")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	l.Open("end")
	exit, errs := b.Wait()
	require.Equal(t, 7, exit, errs)
	require.Contains(t, errs, "ending what the command has left running (--linger waits for it): "+strconv.Itoa(pid)+" (sh ")
	require.Empty(t, harness.ProcState(pid))
	require.FileExists(t, m.Behind("saved"))
	_, r := m.HeadClaim("")
	require.True(t, r.Released)
}

// What does not hear of its end is killed, with what it starts meanwhile.
func TestExecKillsALeftProcessThatIgnoresTERM(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec(daemonised("trap : TERM; echo $$ >"+l.Dir+"/pid.tmp; mv "+l.Dir+"/pid.tmp "+l.Dir+"/pid; while :; do sleep 1; done") +
		"read x <" + l.Gate("end"))
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	l.Open("end")
	exit, errs := b.Wait()
	require.Zero(t, exit, errs)
	require.Empty(t, harness.ProcState(pid))
}

// With --linger the lease lasts until what CMD has left has ended, and the exit code is CMD's.
func TestExecWithLingerHoldsTheLeaseUntilLeftProcessesEnd(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	next := harness.StartActor(t, "next")
	b := m.StartExec(daemonised("read x <"+l.Gate("go")+"; echo x >"+m.At("later")+"; "+l.Tell("later")+"; read x <"+l.Gate("end"))+
		"echo $$ >"+l.Dir+"/pid.tmp; mv "+l.Dir+"/pid.tmp "+l.Dir+"/pid; exit 7", "--linger")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	harness.Eventually(t, "CMD has ended", func() bool { return harness.ProcState(pid) == "" })
	_, first := m.HeadClaim("")
	awaitRenewals(m, t, first, 2)
	exit, errs := m.TryLock("acquire", next)
	require.Equal(t, harness.ExitConflict, exit, errs)
	l.Open("go")
	require.Equal(t, "0", l.Take("later"))
	l.Open("end")
	exit, errs = b.Wait()
	require.Equal(t, 7, exit, errs)
	require.Contains(t, errs, "the lease is held until what it has left running ends")
	m.Acquire(next)
}

// What lingers is ended when the lease is lost.
func TestExecWithLingerEndsLeftProcessesWhenTheLeaseIsLost(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec(daemonised("read x <"+l.Gate("never"))+"echo $$ >"+l.Dir+"/pid.tmp; mv "+l.Dir+"/pid.tmp "+l.Dir+"/pid", "--linger")
	pid, err := strconv.Atoi(l.Take("pid"))
	require.NoError(t, err)
	harness.Eventually(t, "CMD has ended", func() bool { return harness.ProcState(pid) == "" })
	m.MustCLI("lock", "release", m.Mountpoint)
	exit, errs := b.Wait()
	require.Equal(t, harness.ExitLost, exit, errs)
	require.Contains(t, errs, "the lease was lost (released): ending what the command has left running: ")
	_, errs, exit = m.CLI("exec", "--linger", "--scope", "user", m.Mountpoint, "--", "true")
	require.Equal(t, 2, exit, errs)
}

// With --cgroup whoever is in the command's cgroup is the holder, also one that is no
// descendant; the cgroup is gone with the command.
func TestExecWithCgroupLetsWhoeverIsInTheCgroupWrite(t *testing.T) {
	group := string(harness.NewCgroup(t).Below(t, "home"))
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	for _, options := range [][]string{{"--cgroup"}, {"--cgroup", "--linger"}} {
		l := harness.Mail{T: t, Dir: t.TempDir()}
		guest := harness.StartActor(t, "guest")
		guest.Fails(m.Put("f"), "EROFS")
		go1, end := l.Gate("go"), l.Gate("end")
		line := daemonised("read x <"+go1+"; echo x >"+m.At("forked")+"; "+l.Tell("forked")) + "grep ^0:: /proc/self/cgroup >" + l.Dir + "/at; " + l.Tell("begun") + "; read x <" + end
		argv := append(append([]string{"exec"}, options...), m.Mountpoint, "--", "setsid", "-w", "sh", "-c", line)
		b := m.Start(append([]string{"sh", "-c", "echo $$ >" + group + "/cgroup.procs; exec \"$@\"", "sh", m.Bin}, argv...)...)
		require.Equal(t, "0", l.Take("begun"))
		at := filepath.Join(group, filepath.Base(strings.TrimSpace(harness.ReadText(t, filepath.Join(l.Dir, "at")))))
		require.Contains(t, at, "jvsfs-exec-"+strconv.Itoa(b.PID())+"-")
		require.NoError(t, os.WriteFile(filepath.Join(at, "cgroup.procs"), []byte(harness.PIDOf(guest)), 0o644))
		guest.OK(m.Put("f"))
		l.Open("go")
		require.Equal(t, "0", l.Take("forked"))
		move := func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(harness.PIDOf(guest)), 0o644))
		}
		move(group)
		harness.Eventually(t, "who has left is a stranger", func() bool { return guest.Do(m.Put("f")).Errno == "EROFS" })
		beside := harness.NewCgroupAt(t, at+"0")
		move(string(beside))
		guest.Fails(m.Put("f"), "EROFS") // its name only begins like that of the command's group
		next := harness.StartActor(t, "next")
		beside.Take(next)
		next.Fails(m.Put("f"), "EROFS")
		guest.End()
		l.Open("end")
		exit, errs := b.Wait()
		require.Zero(t, exit, errs)
		require.NoDirExists(t, at)
		_, r := m.HeadClaim("")
		require.True(t, r.Released)
	}
}

// Without a cgroup hierarchy that it may use, exec says the ways out and runs nothing.
func TestExecWithCgroupRunsNothingWhereItMayUseNoCgroup(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	user := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000})
	exit, said := user.Run("/", "", m.Bin+" exec --cgroup "+m.Mountpoint+" -- touch "+m.At("never"))
	require.EqualValues(t, 1, exit, said)
	require.Contains(t, said, "a cgroup of its own cannot be made for the command: ")
	require.Contains(t, said, "next: leave --cgroup out; or run it as root, or in a cgroup that is delegated")
	require.NoFileExists(t, m.Behind("never"))
}

// A signal ends the wait, and with it what lingers, also what is deaf to that signal.
func TestExecWithLingerEndsLeftProcessesAtASignal(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := m.StartExec("sh -c 'trap \"\" INT; "+l.Tell("waits")+"; read x <"+l.Gate("never")+"' & exit 0", "--linger")
	require.Equal(t, "0", l.Take("waits"))
	harness.Eventually(t, "exec lingers", func() bool { return strings.Contains(harness.ReadText(t, b.File), "is held until") })
	require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
	exit, errs := b.Wait()
	require.Equal(t, 128+int(unix.SIGINT), exit, errs)
	require.Contains(t, errs, "ending what the command has left running: ")
	_, r := m.HeadClaim("")
	require.True(t, r.Released)
}
