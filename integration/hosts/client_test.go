//go:build jvsfs_hosts

package hosts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The client of the store ends while somebody holds, and is started again at the same place. What jvsfs has open is of the one that has
// ended. Every command says so, names the file and what to do. When the store is there again, the mount serves again by itself; the lease
// of before runs out. By hand it goes, too.
func TestQuickAMountServesAgainWhenTheStoresClientIsStartedAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := newCluster(t)
	wait := "1m"
	if _, is := c.engine.(gluster); !is { // the others keep the lock of a client that has ended for a minute and more
		c.engine.hasty(c)
		wait = "4m"
	}
	h := c.join("h1")
	h.Most = 6 * time.Minute
	c.mount(h, brief)
	said, exit := c.exec(h, "echo one >"+viewDir+"/file")
	requireExit(t, 0, exit, said+h.Logs())
	held := c.hold(h)
	ended := func() {
		h.Signal("KILL", h.clients())
		h.Must("umount", "-l", storeDir)
	}

	ended()
	says := func(want int, args ...string) {
		t.Helper()
		said, exit := h.Run(append([]string{c.bin}, args...)...)
		requireExit(t, want, exit, said+h.Logs())
		require.Contains(t, said, "this host is cut off the store, or its client has ended or was started again")
		require.Contains(t, said, storeDir+"/control")
		if args[0] != "status" {
			require.Contains(t, said, "umount --bare")
		}
	}
	exit, said = held.j.Wait()
	require.NotZero(t, exit, "%s", said)
	says(15, "exec", viewDir, "--", "sh", "-c", "echo lost >>"+viewDir+"/file")
	says(15, "explain", "--pid", "1", viewDir+"/file")
	says(0, "status")
	says(1, "doctor", viewDir)
	said, exit = h.Run("cat", viewDir+"/file")
	require.NotZero(t, exit, "%s", said)

	c.connect(h)
	reads := func() (bool, string) {
		said, exit := h.Run("cat", viewDir+"/file")
		return exit == 0 && said == "one\n", said + h.Logs()
	}
	harness.EventuallyNoted(t, "the mount serves again", reads)
	said, exit = c.exec(h, "echo two >>"+viewDir+"/file")
	require.NotZero(t, exit, "the lease that nobody released has not run out: %s", said)

	ended()
	said, exit = h.Run(c.bin, "umount", "--bare", viewDir)
	requireExit(t, 1, exit, said+h.Logs()) // there is nothing left to flush to
	require.Contains(t, said, "the mount is away")
	c.connect(h)
	c.mount(h, brief)
	harness.EventuallyNoted(t, "it serves", reads)
	harness.EventuallyNoted(t, "the lease that nobody released runs out", func() (bool, string) {
		said, exit := c.exec(h, "echo two >>"+viewDir+"/file", "--wait", wait)
		return exit == 0, said + h.Logs()
	})
	require.Equal(t, "one\ntwo\n", c.stored("file"))
	c.umount(h)
}
