package lease

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// quiesce runs a line of shell while nothing changes in the worktree; options stand before the path. The window lasts until the line
// has ended, however slow the machine is.
func quiesce(m *harness.Mount, line string, options ...string) *harness.Background {
	m.T.Helper()
	argv := append([]string{m.Bin, "quiesce", "--for", "10m"}, options...)
	return m.Start(append(argv, m.Mountpoint, "--", "sh", "-c", line)...)
}

// number is what a file says, as two writers of it leave it: ten digits.
func number(t *testing.T, path string) int {
	t.Helper()
	n, err := strconv.Atoi(harness.ReadText(t, path)[:10])
	require.NoError(t, err)
	return n
}

// A holder writes all the time: two counters, one after the other, and two names, of which one goes when the next
// has come. No snapshot is torn, and what is seen through the mount is what is on the disk.
func TestNoSnapshotOfAQuiescedWorktreeIsTorn(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("a", "b")})
	l := harness.NewMail(m)
	a, b, d := m.At("a"), m.At("b"), m.At("d")
	m.StartExec(fmt.Sprintf(`mkdir %[3]s; i=0; while [ $i -lt 1000000 ]; do i=$((i+1));
		printf '%%010d\n' $i 1<>%[1]s; printf '%%010d\n' $i 1<>%[2]s; : >%[3]s/n$i; rm -f %[3]s/n$((i-1));
		[ $i = 3 ] && { %[4]s; }; done`, a, b, d, l.Tell("writes")))
	l.Take("writes")
	moved := 0
	for n := range 6 {
		mount, disk := filepath.Join(m.Base, fmt.Sprint("mount", n)), filepath.Join(m.Base, fmt.Sprint("disk", n))
		exit, said := quiesce(m, fmt.Sprintf("cp -a %s %s && cp -a %s %s", m.Mountpoint, mount, m.Source, disk), "--wait", "10m").Wait()
		require.Zero(t, exit, said)
		require.Empty(t, harness.TakeDigest(t, mount).Diff(harness.TakeDigest(t, disk), harness.LeaveChangeTimes, harness.LeaveDirSizes))
		x, y := number(t, filepath.Join(disk, "a")), number(t, filepath.Join(disk, "b"))
		require.True(t, x == y || x == y+1, "%d and %d", x, y)
		names, err := os.ReadDir(filepath.Join(disk, "d"))
		require.NoError(t, err)
		for _, one := range names {
			require.Contains(t, []string{fmt.Sprint("n", x), fmt.Sprint("n", x-1)}, one.Name())
		}
		require.NotEqual(t, moved, x+y, "the writer goes on in between")
		moved = x + y
	}
}

// quiet runs a command in a window that stays open until the gate "over" is opened, and returns when it runs.
func quiet(m *harness.Mount, l harness.Mail, options ...string) *harness.Background {
	m.T.Helper()
	b := quiesce(m, l.Tell("quiet")+"; read x <"+l.Gate("over"), options...)
	l.Take("quiet")
	return b
}

// heldBy is a mount whose lease an actor holds. It has the file f open, and is about to write to it.
func heldBy(t *testing.T, o harness.MountOptions) (*harness.Mount, *harness.Actor, harness.Mail) {
	t.Helper()
	o.OnFree, o.Prepare = "deny", harness.WithFiles("f", "g", "mapped")
	m := harness.NewMount(t, o)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	return m, a, harness.NewMail(m)
}

// waits begins a write of the holder, and returns when it waits for the end of the window.
func waits(m *harness.Mount, a *harness.Actor, in ...string) <-chan harness.Reply {
	m.T.Helper()
	done := a.Begin(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("LATER!")})
	harness.Eventually(m.T, "the write waits", func() bool { return strings.Contains(m.MustCLI("status", "--json"), `"waiting": 1`) })
	require.NotEqual(m.T, "LATER!", harness.ReadText(m.T, m.Behind(append(in, "f")...))[:6])
	return done
}

// windows are the outcomes that the audit chain tells.
func windows(m *harness.Mount) (outcomes []string) {
	for _, l := range m.AuditTail(m.Mountpoint) {
		if l.Type == "quiesce_end" {
			outcomes = append(outcomes, fmt.Sprint(l.Details["outcome"]))
		}
	}
	return outcomes
}

// While a snapshot is taken the holder's writes wait, strangers are refused as ever, everybody reads, and
// everything says what is going on. The command itself is refused at once; it may write elsewhere.
func TestAWriteWaitsForTheEndOfASnapshot(t *testing.T) {
	m, a, l := heldBy(t, harness.MountOptions{})
	events := m.Start(m.Bin, "watch", "--json", m.Mountpoint)
	other := harness.StartActor(t, "other")
	harness.Eventually(t, "somebody watches", func() bool {
		other.Do(m.Put("g"))
		return strings.Contains(harness.ReadText(t, events.File), "refused")
	})
	s := quiesce(m, "echo x >"+m.At("new")+"; "+l.Tell("own")+"; cat "+m.At("f")+" >/dev/null && mkdir "+filepath.Join(m.Base, "elsewhere")+"; "+
		l.Tell("quiet")+"; read x <"+l.Gate("over")+"; exit 7")
	require.NotEqual(t, "0", l.Take("own"))
	require.Equal(t, "0", l.Take("quiet"))
	done := waits(m, a)
	require.Contains(t, m.MustCLI("status"), "quiesced since")
	said, _, _ := m.CLI("explain", "--pid", harness.PIDOf(a), m.At("f"))
	require.Contains(t, said, "is quiesced for sh until")
	other.Fails(m.Put("g"), "EROFS")
	other.OK(harness.Command{Op: "readfile", Path: m.At("f")})
	l.Open("over")
	exit, out := s.Wait()
	require.Equal(t, 7, exit, out)
	require.Contains(t, out, "Read-only file system")
	require.Empty(t, (<-done).Errno)
	require.Equal(t, "LATER!", harness.ReadText(t, m.Behind("f"))[:6])
	require.Equal(t, []string{"kept"}, windows(m))
	harness.Eventually(t, "it was told", func() bool { return strings.Contains(harness.ReadText(t, events.File), "quiesce_ended") })
	require.Contains(t, harness.ReadText(t, events.File), `"event":"quiesced"`)
	require.NotContains(t, m.MustCLI("status"), "quiesced")
	require.Contains(t, m.MustCLI("audit", "verify", m.Mountpoint), "the chain is whole")
}

// What breaks a window ends the command and lets the writers go on, whatever the command makes of it.
func TestQuiesceFailsWhenItsSnapshotIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		options []string
		policy  harness.Policy
		breaks  func(*harness.Mount, *harness.Actor)
	}{
		"its time is over": {options: []string{"--for", harness.OnThisMachine(10 * time.Second).String()}, breaks: func(*harness.Mount, *harness.Actor) {}},
		"a store through a mapping": {breaks: func(_ *harness.Mount, a *harness.Actor) {
			a.OK(harness.Command{Op: "store", Name: "m", Data: []byte("AFTER!")})
			a.OK(harness.Command{Op: "msync", Name: "m"})
		}},
		"a handover": {breaks: func(m *harness.Mount, a *harness.Actor) { m.Handover("--to-pid", strconv.Itoa(os.Getpid())) }},
		"another daemon takes its place": {breaks: func(m *harness.Mount, _ *harness.Actor) {
			m.Opts.Extra = append(m.Opts.Extra, "--replace")
			m.Mount()
		}},
		"the daemon was killed": {breaks: func(m *harness.Mount, _ *harness.Actor) { m.KillDaemon() }},
	} {
		t.Run(name, func(t *testing.T) {
			m, a, l := heldBy(t, harness.MountOptions{})
			a.OK(harness.Command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
			a.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
			a.OK(harness.Command{Op: "store", Name: "m", Data: []byte("BEFORE")})
			s := quiet(m, l, c.options...)
			require.Equal(t, "BEFORE", harness.ReadText(t, m.Behind("mapped"))[:6], "it has been written back")
			c.breaks(m, a)
			exit, said := s.Wait()
			require.Equal(t, harness.ExitPartial, exit, said)
			require.Contains(t, said, "E_PARTIAL_SNAPSHOT")
			if name == "the daemon was killed" {
				return
			}
			require.Equal(t, []string{"broken"}, windows(m))
			if name != "a handover" {
				a.OK(m.Put("g"))
			}
		})
	}
}

// The command's process is killed, or somebody interrupts it: the writers go on.
func TestWritersGoOnWhenTheSnapshotCommandIsKilled(t *testing.T) {
	m, a, l := heldBy(t, harness.MountOptions{})
	s := quiet(m, l)
	done := waits(m, a)
	s.Kill()
	require.Empty(t, (<-done).Errno)
	harness.Eventually(t, "it is told", func() bool { return len(windows(m)) == 1 })
	require.Equal(t, "broken", windows(m)[0])

	require.NoError(t, os.RemoveAll(l.Dir))
	l = harness.NewMail(m)
	s = quiet(m, l)
	require.NoError(t, unix.Kill(s.PID(), unix.SIGINT))
	exit, said := s.Wait()
	require.Equal(t, harness.ExitInterrupted, exit, said)
	a.OK(m.Put("g"))
}

// A write hangs in the disk: there is no quiet moment, the command is not run, and the writers go on.
func TestNoSnapshotIsTakenWhileAWriteIsInFlight(t *testing.T) {
	m, disk := harness.NewFreezable(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})
	ran := filepath.Join(m.Base, "ran")
	exit, said := quiesce(m, ": >"+ran, "--wait", "300ms").Wait()
	require.Equal(t, harness.ExitUnquiet, exit, said)
	require.Contains(t, said, "E_CONSISTENCY_UNAVAILABLE")
	require.NoFileExists(t, ran)
	disk.Thaw()
	require.Empty(t, (<-written).Errno)
	exit, said = quiesce(m, ": >"+ran).Wait()
	require.Zero(t, exit, said)
	require.FileExists(t, ran)
}

// Nobody stops the writers of another user. The second snapshot waits for the first.
func TestQuiesceIsRefusedToOtherUsersAndWaitsForAnother(t *testing.T) {
	m, a, l := heldBy(t, harness.MountOptions{})
	stranger := exec.Command(m.Bin, "quiesce", m.Mountpoint, "--", "true")
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
	out, err := stranger.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "E_NOT_PERMITTED")

	first := quiet(m, l)
	exit, said := quiesce(m, "true", "--wait", harness.OnThisMachine(100*time.Millisecond).String()).Wait()
	require.Equal(t, harness.ExitUnquiet, exit, said)
	require.Contains(t, said, "is quiesced already, for sh")
	second := quiesce(m, "true", "--wait", "10m")
	l.Open("over")
	for _, s := range []*harness.Background{first, second} {
		exit, said := s.Wait()
		require.Zero(t, exit, said)
	}
	a.OK(m.Put("g"))
	require.Equal(t, []string{"unavailable", "kept", "kept"}, windows(m))
}

// A write that waits keeps its file locked in the kernel. A command that copies this file within the mount does not
// wait for it, whatever calls its program likes best.
func TestASnapshotCopiesAFileToWhichAWriteWaits(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, l := harness.StartActor(t, "a"), harness.NewMail(m)
	m.Acquire(a, "main")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("main", "f"), Flags: unix.O_WRONLY})
	line := l.Tell("quiet") + "; read x <" + l.Gate("go") + "; cp --sparse=auto " + m.At("main", "f") + " " + m.At(".jvs", "copy")
	s := m.Start(m.Bin, "quiesce", m.At("main"), "--", "sh", "-c", line)
	l.Take("quiet")
	done := waits(m, a, "main")
	l.Open("go")
	exit, said := s.Wait()
	require.Zero(t, exit, said)
	require.Empty(t, (<-done).Errno)
	require.NotEqual(t, "LATER!", harness.ReadText(t, m.Behind(".jvs", "copy"))[:6])
}
