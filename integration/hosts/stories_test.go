//go:build jvsfs_hosts

package hosts

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Two hosts, one volume, one worktree: who has the lease writes, who has not is refused, and each sees what the other wrote.
func TestQuickOnlyTheHolderOfTwoHostsWrites(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, calm)
	c.mount(h2, calm)

	require.Contains(t, h1.Must(c.bin, "status"), "records on "+c.engine.title()+", tier C")
	t.Run("exec", func(t *testing.T) {
		said, exit := c.exec(h1, "echo one >"+viewDir+"/file")
		requireExit(t, 0, exit, said+h1.Logs())
		require.Equal(t, "one\n", c.stored("file"))
		said, exit = c.exec(h2, "cat "+viewDir+"/file && echo two >>"+viewDir+"/file")
		requireExit(t, 0, exit, said+h2.Logs())
		require.Equal(t, "one\ntwo\n", c.stored("file"))
	})
	t.Run("refused", func(t *testing.T) {
		held := c.hold(h1)
		said, exit := h2.Run("sh", "-c", "echo intruder >>"+viewDir+"/file")
		require.NotZero(t, exit)
		require.Contains(t, said, "Read-only file system")
		said, exit = c.exec(h2, "echo intruder >>"+viewDir+"/file")
		requireExit(t, 10, exit, said)
		require.Contains(t, said, "h1:", "it names the holder")
		held.release()
		require.NotContains(t, c.stored("file"), "intruder")
	})
	t.Run("explain", func(t *testing.T) {
		held := c.hold(h1)
		var said string
		harness.EventuallyNoted(t, "the store answers explain", func() (bool, string) { // in time: a busy machine may need longer
			var exit int
			said, exit = h2.Run(c.bin, "explain", "--json", "--pid", "1", viewDir+"/file")
			return exit == 10, said
		})
		var x harness.Explanation
		require.NoError(t, json.Unmarshal([]byte(said), &x), said)
		require.NotNil(t, x.Holder, said)
		require.Contains(t, x.Holder.ID, "h1:")
		held.release()
	})
	t.Run("another took over", func(t *testing.T) { // what h1 saw last is its own holder
		held := c.hold(h2)
		said, exit := h1.Run("sh", "-c", "echo intruder >>"+viewDir+"/file; "+c.bin+" explain; "+c.bin+" explain --pid 1 "+viewDir+"/file; "+c.bin+" status")
		require.NotContains(t, said, "h1:")
		require.GreaterOrEqual(t, strings.Count(said, "h2:"), 3, "exit %d: %s%s", exit, said, h1.Logs())
		held.release()
	})
	t.Run("wait", func(t *testing.T) {
		held := c.hold(h1)
		waiting := h2.Start(c.execArgs("echo waited >>"+viewDir+"/file", "--wait", "5m")...)
		harness.EventuallyNoted(t, "it waits", func() (bool, string) { return waiting.Said() != "", waiting.Said() })
		held.release()
		exit, said := waiting.Wait()
		requireExit(t, 0, exit, said)
		require.Contains(t, c.stored("file"), "waited")
	})
	c.umount(h1)
	c.umount(h2)
}

// A store that does not answer. Who asks is told what is known, though no call to the store ends; the advice is not to meddle with
// the daemon, which runs. Whose lease is over is told at its deadline.
func TestQuickCommandsAnswerWhileTheStoreHangs(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h := c.join("h1")
	c.mount(h, brief)
	held := c.hold(h)
	h.freeze()
	var said string
	harness.EventuallyNoted(t, "status says that the store is silent", func() (bool, string) { // the kernel may know the attributes for a second
		var exit int
		said, exit = h.Run(c.bin, "status")
		return exit == 0 && strings.Contains(said, "has not answered for"), said
	})
	require.Contains(t, said, "h1:", "the holder is known")
	require.NotContains(t, said, "kill -CONT")
	said, exit := h.Run(c.bin, "explain", "--pid", "1", viewDir)
	requireExit(t, 15, exit, said)
	require.Contains(t, said, "does not answer")
	require.Contains(t, said, "h1:")
	require.NotContains(t, said, "kill -CONT")
	harness.EventuallyNoted(t, "exec is told that its lease has expired", func() (bool, string) {
		said := held.j.Said()
		return strings.Contains(said, "expired"), said
	})
	h.thaw()
	exit, said = held.j.Wait()
	require.NotZero(t, exit, "%s", said)
}

// The holder's host is frozen. Others may get no answer from the store for what it has (CephFS). Who asks on another host is told what
// is known, and nobody is advised to meddle with a daemon.
func TestQuickCommandsAnswerWhileTheHoldersHostIsFrozen(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, calm)
	c.mount(h2, calm)
	said, exit := c.exec(h2, "true")
	requireExit(t, 0, exit, said+h2.Logs())
	held := c.hold(h1)
	harness.EventuallyNoted(t, "the other host has seen who holds", func() (bool, string) { // a store that is slow is not waited for
		said := h2.Must(c.bin, "status")
		return strings.Contains(said, "h1:"), said
	})
	h1.freeze()
	for _, args := range [][]string{{"status"}, {"explain", "--pid", "1", viewDir}, {"lock", "status", viewDir}, {"exec", viewDir, "--", "true"}} {
		began := time.Now()
		said, exit = h2.Run(append([]string{c.bin}, args...)...)
		t.Logf("%v: exit code %d after %v", args, exit, time.Since(began).Round(time.Millisecond))
		require.NotContains(t, said, "kill -CONT", "%v", args)
		require.NotContains(t, said, "may be stopped", "%v", args)
		if args[0] != "exec" { // it has waited, and does not look
			require.Contains(t, said, "h1:", "%v names the holder", args)
		}
	}
	h1.thaw()
	held.release()
	c.umount(h2)
	c.umount(h1)
}

// A host that fails without a word is silent for so long that its lease is over by every clock, and then the next one gets it. It says
// so: nothing proved that the other has stopped, but its silence.
func TestALeaseOfASilentHostIsTakenOverAfterItsTime(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, brief)
	c.mount(h2, brief)
	said, exit := c.exec(h1, "echo one >"+viewDir+"/file")
	requireExit(t, 0, exit, said)
	if _, is := c.engine.(gluster); !is { // on MooseFS the default is a day
		c.engine.hasty(c)
	}
	h2.Most = 5 * time.Minute
	c.hold(h1)
	c.partition(h1)
	began := time.Now()
	said, exit = c.exec(h2, "date +%s.%N >"+h2.File("taken")+" && echo two >>"+viewDir+"/file && echo token $JVSFS_TOKEN", "--wait", "4m")
	requireExit(t, 0, exit, said+h2.Logs())
	require.Contains(t, said, "token 3")
	t.Logf("h2 held %v after h1 had fallen silent, and had written after %v", h2.since(began, "taken"), time.Since(began).Round(time.Second/10))
	require.Equal(t, "one\ntwo\n", c.stored("file"))
	said = h2.Must(c.bin, "audit", "tail", viewDir)
	require.Contains(t, said, "unclean")
	c.umount(h2)
}

// A holder gives its lease to another host without a gap.
func TestQuickAHandoverToAnotherHostHasNoGap(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, calm)
	c.mount(h2, calm)
	c.hold(h1)
	offer := h1.Start(c.bin, "lock", "handover", viewDir, "--to-host", "h2", "--wait", "5m")
	said, exit := c.exec(h2, "echo token $JVSFS_TOKEN", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs()+h1.Logs())
	require.Contains(t, said, "token 2")
	exit, said = offer.Wait()
	requireExit(t, 0, exit, said)
	c.umount(h2)
	c.umount(h1)
}

// Records that only one host sees would let two hosts hold at once.
func TestQuickRecordsThatOnlyOneHostSeesAreRefused(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h := c.join("h1")
	h.Must("mkdir", "-p", sourceDir)
	for _, args := range [][]string{{}, {"--control", "/mnt/control"}} {
		said, exit := h.Run(append([]string{c.bin, "mount", sourceDir, viewDir, "--log-file", h.File("daemon.log")}, args...)...)
		requireExit(t, 2, exit, said)
		require.Contains(t, said, c.engine.title())
		require.Contains(t, said, "--local-only")
	}
	h.Must(c.bin, "mount", sourceDir, viewDir, "--log-file", h.File("daemon.log"), "--local-only")
	said, exit := c.exec(h, "echo one >"+viewDir+"/file")
	requireExit(t, 0, exit, said)
	c.umount(h)
}

// since is how long after a moment a command on the host has written the time into a file.
func (h *host) since(began time.Time, name string) time.Duration {
	h.T.Helper()
	text, err := os.ReadFile(h.File(name))
	require.NoError(h.T, err)
	at, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	require.NoError(h.T, err)
	return time.Duration((at - float64(began.UnixNano())/1e9) * float64(time.Second)).Round(time.Second / 10)
}
