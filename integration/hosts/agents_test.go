//go:build jvsfs_hosts

package hosts

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Chaos with the shipped fence agents: each host cuts the other one off before it takes its lease. The test is the admin of a host that
// was cut off: it ends the client, lets the host in again, and mounts anew.

// cutMark has a line for each time that an agent has cut the host off, or failed halfway, since it was let in.
func (h *host) cutMark() string { return h.File("cut-off") }

func (h *host) isCut() bool {
	_, err := os.Stat(h.cutMark())
	return err == nil
}

// agentOn lets a host in again by the shipped agent, on the store's host.
func (c *cluster) agentOn(h *host, more ...string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(c.store.File("agent"), 0o755))
	words := c.engine.agent(c, c.store, h, "env") // which runs there what it is given
	agent, err := filepath.Abs(filepath.Join("../../scripts/fence", words[0]))
	require.NoError(c.t, err)
	lines := append([]string{"action=on", "nodename=" + h.Name}, append(words[1:], more...)...)
	c.store.Must(append([]string{"sh", "-c", `agent=$1; shift; printf '%s\n' "$@" | "$agent"`, "sh", agent}, lines...)...)
}

// mend lets those in that were cut off. Agents may run at any time, also for a lease that a host had before it was let in.
func (x *chaos) mend() {
	x.c.t.Helper()
	for _, h := range x.hosts {
		if h.isCut() || x.evicted(h) {
			x.anew(h)
		}
	}
}

// evicted is whether CephFS itself has ended the session of a client that was silent. Such a client does not come back.
func (x *chaos) evicted(h *host) bool {
	x.c.t.Helper()
	if _, is := x.c.engine.(ceph); !is {
		return false
	}
	said, _ := h.Run(append(bounded, "stat", sourceDir)...)
	return strings.Contains(said, "endpoint shutdown")
}

// anew has the host begin anew, with another client of the store. It is not cut off when it returns, or was so again just now.
func (x *chaos) anew(h *host) {
	x.c.t.Helper()
	harness.EventuallyNoted(x.c.t, h.Name+" begins anew", func() (bool, string) {
		said, ok := x.takeAway(h)
		if !ok {
			return false, said
		}
		if h.isCut() {
			require.NoError(x.c.t, os.Remove(h.cutMark()))
			x.cuts++
			x.c.t.Logf("%s: was cut off, and is let in again", h.Name)
			x.c.engine.letIn(x.c, h)
		}
		said, _ = h.Run(append(bounded, x.c.engine.client(x.c, h, storeDir)...)...)
		if !h.mounted(storeDir, x.c.engine.kind()) {
			return false, said + h.Logs()
		}
		more, exit := h.Run(append(bounded, x.mountArgs(h)...)...)
		return exit == 0, said + more + h.Logs()
	})
}

// bounded ends what waits for a store that it is cut off.
var bounded = []string{"timeout", "-k", "2", "20"}

// takeAway ends the host's client of the store, and takes away what was mounted over it.
func (x *chaos) takeAway(h *host) (said string, ok bool) {
	x.c.t.Helper()
	h.abort(storeDir)
	if pids := h.clientsIfAny(); len(pids) > 0 {
		_, _ = h.Run(append([]string{"kill", "-KILL"}, pids...)...) // the abort may have ended it
	}
	said, exit := h.Run(append(bounded, x.c.bin, "umount", "--bare", viewDir)...)
	if exit != 0 && !strings.Contains(said, "E_NO_MOUNT") { // as umountBare
		return said + h.Logs(), false
	}
	_, _ = h.Run("umount", "-l", storeDir) // the abort may have taken it away
	return "", true
}
