package daemon

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

	"github.com/jvsfs/jvsfs/integration/harness"
)

// gateWriters wait for a gate at a time.
const gateWriters = 200

// stoppedHolder is a repository of two mounts. The daemon of the first keeps the lease of
// main and is stopped, so that whoever writes there through the second waits for the gate.
func stoppedHolder(t *testing.T) (second *harness.Mount) {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, OnFree: "acquire", Policy: harness.Hasty,
		Prepare: func(t testing.TB, main string) { withDirs(t, main, gateWriters) }})
	m.Mount()
	pid := m.Daemons()[0]
	n := m.Second()
	m.Acquire(harness.StartActor(t, "holder"), "main")
	require.ErrorIs(t, os.Chmod(n.At("main", "d0", "f"), 0o600), unix.EROFS) // and the second knows of main
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { require.NoError(t, unix.Kill(pid, unix.SIGCONT)) })
	harness.EventuallyNoted(t, "the lease of the stopped daemon has run out", func() (bool, string) {
		state := n.WorktreeStatus("main").State
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
// writers had an answer before that was done: then it has not stood behind any. Who had one tries
// again until it is done, so that an umount on a slow machine finds them there, too.
func theyWait(m *harness.Mount, do func()) (undisturbed bool) {
	var writers sync.WaitGroup
	var answered atomic.Int64
	var done atomic.Bool
	defer writers.Wait()
	defer done.Store(true)
	for i := range gateWriters {
		writers.Go(func() {
			for !done.Load() {
				_ = os.Chmod(m.At("main", fmt.Sprintf("d%d", i), "f"), 0o600) // refused when it has waited
				answered.Add(1)
			}
		})
	}
	for answered.Load() == 0 && threadsInFuse() < gateWriters {
		time.Sleep(time.Millisecond)
	}
	if answered.Load() == 0 {
		do()
	}
	return answered.Load() == 0
}

// whileTheyWait tries until the machine was fast enough to do something meanwhile.
func whileTheyWait(m *harness.Mount, what string, do func()) {
	m.T.Helper()
	harness.Eventually(m.T, what, func() bool { return theyWait(m, do) })
}

// Two hundred writers wait for a gate that a stopped daemon keeps. Nobody else waits: who
// reads what the kernel has never asked for, status, umount, and the renewal of another
// worktree's lease.
func TestWritersThatWaitForTheGateDelayNobodyElse(t *testing.T) {
	n := stoppedHolder(t)
	other, reader := harness.StartActor(t, "other"), harness.StartActor(t, "reader")
	n.MustCLI("lock", "acquire", "--scope", "mount", "--pid", harness.PIDOf(other), n.At("worktrees", "a"))
	before, since := n.WorktreeStatus("a"), time.Now()
	dir := 0
	whileTheyWait(n, "reading", func() {
		for range 10 {
			at := n.At("main", fmt.Sprintf("d%d", dir%gateWriters))
			dir++
			within(t, "read", reader.Begin(harness.Command{Op: "readfile", Path: filepath.Join(at, "read")}))
			within(t, "list", reader.Begin(harness.Command{Op: "readdir", Path: at}))
		}
	})
	whileTheyWait(n, "writing elsewhere", func() { other.OK(n.Put("worktrees", "a", "f")) })
	whileTheyWait(n, "lock status", func() { n.MustCLI("lock", "status", n.At("worktrees", "a")) })
	harness.Eventually(t, "status", func() (answers bool) { // which waits for the stopped daemon, but not for this one
		theyWait(n, func() { answers = says(n) == "serving" })
		return answers
	})
	whileTheyWait(n, "umount", func() {
		_, errs, exit := n.CLI("umount", n.Mountpoint)
		require.Equal(t, harness.ExitBusy, exit, errs)
	})
	harness.Eventually(t, "two leases' time has passed", func() bool { return time.Since(since) > 2*harness.Hasty.Lease })
	harness.Eventually(t, "it is held", func() bool { return n.WorktreeStatus("a").State == "held" }) // late renewals go on (rule 16)
	require.Equal(t, before.Token, n.WorktreeStatus("a").Token, "the lease was renewed all the while")
	n.Release(other, "worktrees", "a")
}

// saidOfWaiting is what status says of a mount, and how many of its mutations wait.
type saidOfWaiting struct {
	Mountpoint, State string
	Statistics        struct{ Waiting int64 }
}

func statusOfWaiting(m *harness.Mount) (of saidOfWaiting) {
	m.T.Helper()
	var all struct{ Mounts []saidOfWaiting }
	harness.RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			of = one
		}
	}
	return of
}

func says(m *harness.Mount) string { return statusOfWaiting(m).State }

func waiting(m *harness.Mount) int64 { return statusOfWaiting(m).Statistics.Waiting }

// A process that is killed, or interrupted without a handler, leaves a wait at once. A witness that has waited
// for longer still waits.
func TestAWriterThatWaitsForTheGateCanBeKilled(t *testing.T) {
	m := stoppedHolder(t)
	harness.Eventually(t, "they leave before the witness", func() bool { return leaveBeforeTheWitness(m, "main") })
}

func TestAWriterThatWaitsForAHandoverCanBeKilled(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: func(t testing.TB, tree string) { withDirs(t, tree, witnessed+1) }})
	m.MustCLI("lock", "acquire", "--scope", "mount", "--pid", harness.PIDOf(harness.StartActor(t, "holder")), m.Mountpoint)
	harness.Eventually(t, "they leave before the witness", func() bool {
		give := m.Start(m.Bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.Mountpoint)
		harness.Eventually(t, "the offer stands", func() bool { return harness.OfferedTo(t, m, "source") == "nowhere" })
		first := leaveBeforeTheWitness(m, "")
		require.NoError(t, unix.Kill(give.PID(), unix.SIGINT))
		give.Wait()
		return first
	})
}

const witnessed = 20

// leaveBeforeTheWitness kills writers that wait, and reports whether they have ended while
// one still waited that had begun before.
func leaveBeforeTheWitness(m *harness.Mount, tree string) bool {
	m.T.Helper()
	waits := func(c *exec.Cmd) {
		harness.Eventually(m.T, "it waits", func() bool { return waitsInFuse(c.Process.Pid) || ended(c) })
	}
	witness := waitingWriter(m.T, m.At(tree, fmt.Sprintf("d%d", witnessed), "f"))
	waits(witness)
	var all []*exec.Cmd
	for i := range witnessed {
		all = append(all, waitingWriter(m.T, m.At(tree, fmt.Sprintf("d%d", i), "f")))
	}
	for i, c := range all {
		waits(c)
		require.NoError(m.T, unix.Kill(c.Process.Pid, []unix.Signal{unix.SIGKILL, unix.SIGINT}[i%2]))
	}
	for _, c := range all {
		require.Error(m.T, c.Wait())
	}
	first := waitsInFuse(witness.Process.Pid)
	require.LessOrEqual(m.T, waiting(m), int64(1))
	require.Error(m.T, witness.Wait(), "it is refused when it has waited")
	return first
}

// ended reports whether a command has, while nobody has waited for it.
func ended(c *exec.Cmd) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD)
}
