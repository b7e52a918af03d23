//go:build jvsfs_hosts

package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A host's client of the store freezes while it writes, and stays frozen. With fence_self whoever writes there gets an error at the
// deadline, instead of waiting for as long as the client is frozen.
func TestQuickFenceSelfEndsWritesAtTheDeadline(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1 := c.join("h1")
	short := times{lease: 8 * time.Second, renew: 2 * time.Second, skew: 2 * time.Second, grace: time.Second}
	c.mount(h1, short, "--fence-self")
	writing := h1.Start(c.execArgs("while echo of h1; do :; done >>" + viewDir + "/file")...)
	harness.EventuallyNoted(t, "h1 writes", func() (bool, string) {
		text, exit := c.store.Run("cat", filepath.Join(c.engine.sees(c), sourceName, "file"))
		return exit == 0 && strings.Count(text, "of h1") > 3, writing.Said() + h1.Logs()
	})
	h1.freeze()
	writing.Wait() // by the error of the write that hung, or because exec ends it with the lease
	text, err := os.ReadFile(h1.File("daemon.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "has ended its connection to the store")
	h1.thaw()
	said, exit := c.exec(h1, "echo again >>"+viewDir+"/file")
	require.NotZero(t, exit, "it is cut off: %s", said)
}

// A store without a connection of this host cannot be cut off.
func TestQuickFenceSelfNeedsAStoreOfFUSE(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := shareCluster(t)
	h1 := c.join("h1")
	h1.Must("mkdir", "-p", h1.Dir+"/plain")
	said, exit := h1.Run(c.bin, "mount", h1.Dir+"/plain", viewDir, "--fence-self")
	requireExit(t, 2, exit, said)
	require.Contains(t, said, "fence_self")
	require.Contains(t, said, "not on a FUSE file system")
}
