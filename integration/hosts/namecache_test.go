//go:build jvsfs_hosts

package hosts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A client that remembers which names do not exist does not see the claim of a successor for as long. Where it does so nothing is
// mounted, recovered or replaced; without it everything is.
func TestQuickAStoreWithANegativeNameCacheIsRefused(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := newGluster(t)
	h := c.join("h1")
	c.nameCache(h, "on")
	h.Must("mkdir", "-p", sourceDir)
	refused := func(args ...string) {
		said, exit := h.Run(append([]string{c.bin}, args...)...)
		requireExit(t, 2, exit, said+h.Logs())
		require.Contains(t, said, "performance/nl-cache")
		require.Contains(t, said, "performance.nl-cache off")
	}
	refused("mount", sourceDir, viewDir, "--control", storeDir+"/control", "--log-file", h.File("daemon.log"))
	c.nameCache(h, "off")
	c.mount(h, calm)

	c.nameCache(h, "on")
	refused("mount", "--replace", sourceDir, viewDir, "--control", storeDir+"/control", "--log-file", h.File("daemon.log"))
	said, exit := c.exec(h, "echo one >"+viewDir+"/file") // the old daemon serves
	requireExit(t, 0, exit, said+h.Logs())
	said, exit = h.Run(c.bin, "doctor", viewDir)
	requireExit(t, 1, exit, said)
	require.Contains(t, said, "tier.hides_names")
	h.killDaemon()
	refused("recover", viewDir)
	c.nameCache(h, "off")
	h.Must(c.bin, "recover", viewDir)
	said, exit = c.exec(h, "echo two >>"+viewDir+"/file")
	requireExit(t, 0, exit, said+h.Logs())
	require.Equal(t, "one\ntwo\n", c.stored("file"))
	c.umount(h)
}

// nameCache switches the cache for names that do not exist, and waits until the host's client has it so.
func (c *cluster) nameCache(h *host, to string) {
	c.t.Helper()
	c.gluster("volume", "set", "v", "performance.nl-cache", to)
	harness.EventuallyNoted(c.t, h.Name+" has its name cache "+to, func() (bool, string) {
		said, exit := h.Run("sh", "-c", "cat "+storeDir+"/.meta/graphs/active/*/type")
		return exit == 0 && strings.Contains(said, "nl-cache") == (to == "on"), said
	})
}
