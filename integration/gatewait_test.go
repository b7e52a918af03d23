package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// gateWriters wait for a gate at a time.
const gateWriters = 200

// stoppedHolder is a repository of two mounts. The daemon of the first keeps the lease of
// main and is stopped, so that whoever writes there through the second waits for the gate.
func stoppedHolder(t *testing.T) (second *mount) {
	t.Helper()
	m := prepareMount(t, mountOptions{repository: true, onFree: "acquire", policy: hasty,
		prepare: func(t testing.TB, main string) { withDirs(t, main, gateWriters) }})
	m.mount()
	pid := m.daemons()[0]
	n := m.second()
	m.acquire(startActor(t, "holder"), "main")
	require.ErrorIs(t, os.Chmod(n.At("main", "d0", "f"), 0o600), unix.EROFS) // and the second knows of main
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { require.NoError(t, unix.Kill(pid, unix.SIGCONT)) })
	eventuallyNoted(t, "the lease of the stopped daemon has run out", func() (bool, string) {
		state := n.worktreeStatus("main").State
		return state == "stealable", state
	})
	return n
}

// waitingWriter is a command that has begun to write, and waits.
func waitingWriter(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	c := exec.Command("truncate", "-s", "1", path)
	require.NoError(t, c.Start())
	return c
}

// threadsInFuse counts the threads of this process that wait for an answer of a daemon.
func threadsInFuse() (n int) {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if threadWaitsInFuse(filepath.Join("/proc/self/task", task.Name())) {
			n++
		}
	}
	return n
}

// theyWait has two hundred writers wait, does something, and reports whether not one of the
// writers had an answer before that was done: then it has not stood behind any.
func (m *mount) theyWait(do func()) (undisturbed bool) {
	var writers sync.WaitGroup
	var answered atomic.Int64
	for i := range gateWriters {
		writers.Go(func() {
			_ = os.Chmod(m.At("main", fmt.Sprintf("d%d", i), "f"), 0o600) // refused when it has waited
			answered.Add(1)
		})
	}
	for answered.Load() == 0 && threadsInFuse() < gateWriters {
		time.Sleep(time.Millisecond)
	}
	if answered.Load() == 0 {
		do()
	}
	undisturbed = answered.Load() == 0
	writers.Wait()
	return undisturbed
}

// whileTheyWait tries until the machine was fast enough to do something meanwhile.
func (m *mount) whileTheyWait(what string, do func()) {
	m.t.Helper()
	eventually(m.t, what, func() bool { return m.theyWait(do) })
}

// Two hundred writers wait for a gate that a stopped daemon keeps. Nobody else waits: who
// reads what the kernel has never asked for, status, umount, and the renewal of another
// worktree's lease.
func TestNobodyWaitsForWhoWaitsForTheGate(t *testing.T) {
	n := stoppedHolder(t)
	other, reader := startActor(t, "other"), startActor(t, "reader")
	n.cliOK("lock", "acquire", "--scope", "mount", "--pid", pidOf(other), n.At("worktrees", "a"))
	before, since := n.worktreeStatus("a"), time.Now()
	dir := 0
	n.whileTheyWait("reading", func() {
		for range 10 {
			at := n.At("main", fmt.Sprintf("d%d", dir%gateWriters))
			dir++
			within(t, "read", reader.begin(command{Op: "readfile", Path: filepath.Join(at, "read")}))
			within(t, "list", reader.begin(command{Op: "readdir", Path: at}))
		}
	})
	n.whileTheyWait("writing elsewhere", func() { other.ok(n.put("worktrees", "a", "f")) })
	n.whileTheyWait("lock status", func() { n.cliOK("lock", "status", n.At("worktrees", "a")) })
	eventually(t, "status", func() (answers bool) { // which waits for the stopped daemon, but not for this one
		n.theyWait(func() { answers = n.says() == "serving" })
		return answers
	})
	n.whileTheyWait("umount", func() {
		_, errs, exit := n.CLI("umount", n.Mountpoint)
		require.Equal(t, exitBusy, exit, errs)
	})
	eventually(t, "two leases' time has passed", func() bool { return time.Since(since) > 2*hasty.lease })
	now := n.worktreeStatus("a")
	require.Equal(t, "held", now.State)
	require.Equal(t, before.Token, now.Token, "the lease was renewed all the while")
	n.release(other, "worktrees", "a")
}

// saidOfWaiting is what status says of a mount, and how many of its mutations wait.
type saidOfWaiting struct {
	Mountpoint, State string
	Statistics        struct{ Waiting int64 }
}

func (m *mount) saidOfWaiting() (of saidOfWaiting) {
	m.t.Helper()
	var all struct{ Mounts []saidOfWaiting }
	requireJSON(m.t, m.cliOK("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			of = one
		}
	}
	return of
}

func (m *mount) says() string { return m.saidOfWaiting().State }

func (m *mount) waiting() int64 { return m.saidOfWaiting().Statistics.Waiting }

// Whoever is killed, or interrupted without having said what to do then, leaves a wait at
// once: a witness that has waited for longer waits on.
func TestWhoWaitsForAGateCanBeKilled(t *testing.T) {
	m := stoppedHolder(t)
	eventually(t, "they leave before the witness", func() bool { return m.leaveBeforeTheWitness("main") })
}

func TestWhoWaitsForAHandoverCanBeKilled(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: func(t testing.TB, tree string) { withDirs(t, tree, witnessed+1) }})
	m.cliOK("lock", "acquire", "--scope", "mount", "--pid", pidOf(startActor(t, "holder")), m.Mountpoint)
	eventually(t, "they leave before the witness", func() bool {
		give := m.start(m.bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.Mountpoint)
		eventually(t, "the offer stands", func() bool { return offeredTo(t, m, "source") == "nowhere" })
		first := m.leaveBeforeTheWitness("")
		require.NoError(t, unix.Kill(give.pid(), unix.SIGINT))
		give.wait()
		return first
	})
}

const witnessed = 20

// leaveBeforeTheWitness kills writers that wait, and reports whether they have ended while
// one still waited that had begun before.
func (m *mount) leaveBeforeTheWitness(tree string) bool {
	m.t.Helper()
	waits := func(c *exec.Cmd) {
		eventually(m.t, "it waits", func() bool { return waitsInFuse(c.Process.Pid) || ended(c) })
	}
	witness := waitingWriter(m.t, m.At(tree, fmt.Sprintf("d%d", witnessed), "f"))
	waits(witness)
	var all []*exec.Cmd
	for i := range witnessed {
		all = append(all, waitingWriter(m.t, m.At(tree, fmt.Sprintf("d%d", i), "f")))
	}
	for i, c := range all {
		waits(c)
		require.NoError(m.t, unix.Kill(c.Process.Pid, []unix.Signal{unix.SIGKILL, unix.SIGINT}[i%2]))
	}
	for _, c := range all {
		require.Error(m.t, c.Wait())
	}
	first := waitsInFuse(witness.Process.Pid)
	require.LessOrEqual(m.t, m.waiting(), int64(1))
	require.Error(m.t, witness.Wait(), "it is refused when it has waited")
	return first
}

// ended reports whether a command has, while nobody has waited for it.
func ended(c *exec.Cmd) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD)
}
