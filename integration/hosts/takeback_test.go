//go:build jvsfs_hosts

package hosts

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A host loses its daemon to a kill, and its client of the store is started again: it is up with another client, and the lease that it
// had is not released. It gives that back by itself, and the shipped agent of the other host, which cuts off whole hosts, does not run.
func TestAHostThatCameBackIsNotCutOffForItsOldLease(t *testing.T) {
	c := newCluster(t)
	h1, h2 := c.join("h1"), c.join("h2")
	short := times{lease: 8 * time.Second, renew: 2 * time.Second, skew: 2 * time.Second, grace: time.Second}
	c.fenced(h1, h2, short)
	c.fenced(h2, h1, short)

	writing := h1.Start(c.execArgs("echo of h1 >>" + viewDir + "/file; echo >" + h1.File("begun") + "; sleep 4711")...)
	harness.EventuallyNoted(t, "h1 holds", func() (bool, string) {
		_, exit := h1.Run("test", "-e", h1.File("begun"))
		return exit == 0, writing.Said() + h1.Logs()
	})
	h1.Signal("KILL", h1.Processes("*' mount '"+sourceDir+"*"))
	h1.Sh("kill -KILL " + strings.Join(h1.Processes("*' sleep 4711 '*"), " ") + " || :")
	writing.Wait()
	h1.Must(c.bin, "umount", "--bare", viewDir)
	h1.Must("umount", storeDir)
	c.connect(h1)
	c.mount(h1, short, "--config", h1.File("jvsfs.yaml"))

	harness.EventuallyNoted(t, "h1 has given it back", func() (bool, string) {
		said := h2.Must(c.bin, "lock", "status", viewDir)
		return strings.Contains(harness.ReadText(t, h1.File("daemon.log")), "gave back a lease"), said
	})
	said, exit := c.exec(h2, "echo of h2 >>"+viewDir+"/file", "--wait", "5m")
	requireExit(t, 0, exit, said+h2.Logs())
	said, exit = c.exec(h1, "echo of h1 >>"+viewDir+"/file", "--wait", "5m")
	requireExit(t, 0, exit, said+h1.Logs())
	require.Equal(t, "of h1\nof h2\nof h1\n", c.stored("file"))
	require.NoFileExists(t, h1.cutMark())
	require.NotContains(t, h2.Must(c.bin, "audit", "tail", "--json", "-n", "1000", viewDir), "host_fence")
	c.umount(h1)
	c.umount(h2)
}
