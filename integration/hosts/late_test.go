//go:build jvsfs_hosts

package hosts

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// lateSize is the file that both hosts fill.
const lateSize = 1 << 20

// What a host may still overwrite that was frozen while it wrote, when it thaws behind its successor: measured for two ways to freeze,
// and for the ways in which the store drops the lock of a host that is frozen. Each late write must be reported.
func TestEveryLateWriteOfAThawedHostIsReported(t *testing.T) {
	if os.Getenv("JVSFS_HOSTS_MINUTES") == "" {
		t.Skip("it measures: scripts/hosts-test.sh without --quick")
	}
	c := newCluster(t)
	c.engine.hasty(c)
	causes := []string{"partition"}
	if _, is := c.engine.(gluster); is {
		causes = append(causes, "brick")
	}
	h1, h2 := c.join("h1"), c.join("h2")
	c.mount(h1, hasty)
	c.mount(h2, hasty)
	for range 2 {
		for _, frozen := range []string{"daemon", "client"} {
			for _, cause := range causes {
				landed, reported := c.lateRound(h1, h2, frozen == "daemon", cause == "brick")
				t.Logf("the %s is frozen, the lock is lost by a %s: %d records of h1 over those of h2, %d late writes reported", frozen, cause, landed, reported)
				require.GreaterOrEqual(t, reported, landed, "each late write is reported")
			}
		}
	}
	c.umount(h2)
	c.umount(h1)
}

// lateRound freezes h1 while it writes, has h2 overwrite everything, and thaws h1.
func (c *cluster) lateRound(h1, h2 *host, daemon, brick bool) (landed, reported int) {
	t := c.t
	h1.Sh("head -c 1048576 /dev/zero >" + sourceDir + "/late")
	before := c.lateWrites(h2)
	writing := h1.Start(c.execArgs("exec 3<>"+viewDir+"/late; while printf '%-62s\\n' h1 >&3; do :; done", "--wait", "5m")...)
	harness.EventuallyNoted(t, "h1 writes", func() (bool, string) {
		return strings.Count(c.stored("late"), "h1") > 3, writing.Said() + h1.Logs()
	})
	thaw := h1.thaw
	if daemon {
		pids := h1.daemons()
		h1.Signal("STOP", pids)
		thaw = func() { h1.Signal("CONT", pids) }
	} else {
		h1.freeze()
	}
	if brick {
		c.restartBrick()
	} else {
		c.partition(h1)
	}
	line := "head -c 1048576 /dev/zero | tr '\\0' 2 | dd of=" + viewDir + "/late bs=64k conv=notrunc status=none"
	h2.Most = 6 * time.Minute
	harness.EventuallyNoted(t, "h2 takes over", func() (bool, string) { // its client, too, notices a brick that is started again
		said, exit := c.exec(h2, line, "--wait", "5m")
		return exit == 0, said + h2.Logs()
	})
	require.Equal(t, lateSize, strings.Count(c.stored("late"), "2"), "h2 was acknowledged all of it")
	if !brick {
		c.heal(h1)
	}
	thaw()
	writing.Wait()
	if _, is := c.engine.(ceph); is { // it has evicted the client, which does not come back
		c.restartClient(h1)
	}
	harness.EventuallyNoted(t, "h1 can write again", func() (bool, string) {
		said, exit := c.exec(h1, "echo >"+viewDir+"/again", "--wait", "5m")
		return exit == 0, said + h1.Logs()
	})
	return strings.Count(c.stored("late"), "h1"), c.lateWrites(h2) - before
}

// lateWrites are those in the audit chain.
func (c *cluster) lateWrites(h *host) int {
	c.t.Helper()
	said, _ := h.Run(c.bin, "audit", "tail", "--json", "-n", "100000", viewDir) // fails while the chain is empty
	return strings.Count(said, `"late_write"`)
}
