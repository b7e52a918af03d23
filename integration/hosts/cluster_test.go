//go:build jvsfs_hosts

package hosts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// Where things are on every host.
const (
	storeIP  = "10.77.0.1"
	storeDir = "/mnt/store" // the client's mount
	viewDir  = "/mnt/view"  // jvsfs over sourceDir

	sourceName = "work" // in the store
	sourceDir  = storeDir + "/" + sourceName
)

// cluster is a store and the hosts that use it.
type cluster struct {
	t      testing.TB
	bin    string
	engine engine
	store  *host
	net    *machine.Net
	root   string // the directory of the store that is all of it for the hosts
}

// newCluster starts the store. It keeps everything in memory: that ends with it, and its disk fails no test.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, bin: harness.RequireBinary(t), engine: engineOfRun(t), store: newHost(t, "store")}
	c.store.Must("ip", "address", "add", storeIP+"/32", "dev", "lo")
	c.net = machine.NewNet(c.store.Host, "10.77")
	c.engine.start(c)
	return c
}

// join makes a host with a link to the store and a client.
func (c *cluster) join(name string) *host {
	c.t.Helper()
	h := newHost(c.t, name)
	c.net.Join(h.Host)
	h.Must("mkdir", "-p", viewDir)
	c.connect(h)
	return h
}

// connect starts the host's client of the store. It has mounted when it returns.
func (c *cluster) connect(h *host) {
	c.t.Helper()
	c.connectAt(h, storeDir)
}

func (c *cluster) connectAt(h *host, dir string) {
	c.t.Helper()
	h.Must("mkdir", "-p", dir)
	c.t.Cleanup(func() { h.abort(dir) })
	harness.EventuallyNoted(c.t, h.Name+" mounts the store", func() (bool, string) {
		said, _ := h.Run(c.engine.client(c, h, dir)...)
		return h.mounted(dir, c.engine.kind()), said + h.Logs()
	})
}

// abort ends the connection of a client, whatever waits for it. A client that waits for its own mount, as that of JuiceFS does to look
// after itself, could not be killed.
func (h *host) abort(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	_ = h.Command(ctx, "umount", "-f", "-c", "-i", dir).Run() // it may be in use, or gone
}

// mounted is whether the host's client answers.
func (h *host) mounted(dir, kind string) bool {
	said, exit := h.Run("stat", "-f", "-c", "%T", dir)
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", h.Init))
	return exit == 0 && said != "" && err == nil && strings.Contains(string(mounts), dir+" "+kind+" ")
}

// clients is the host's client of the store, as the host sees it. That of JuiceFS is two processes, of which one looks after the other.
func (h *host) clients() []string {
	h.T.Helper()
	pids := h.clientsIfAny()
	require.NotEmpty(h.T, pids, "clients of the store")
	return pids
}

// clientsIfAny is clients on a host that may have been cut off: that of GlusterFS ends by itself then.
func (h *host) clientsIfAny() []string {
	return h.Processes(`*" ` + storeDir + `"[" )"]*`) // mfsmount writes a sentence there
}

// freeze stops the host's client of the store: every call to the store waits.
func (h *host) freeze() { h.T.Helper(); h.Signal("STOP", h.clients()) }

// thaw lets it go on.
func (h *host) thaw() { h.T.Helper(); h.Signal("CONT", h.clients()) }

// partition takes the host's link down, heal takes it up.
func (c *cluster) partition(h *host) { c.t.Helper(); c.net.Cut(h.Host) }

func (c *cluster) heal(h *host) { c.t.Helper(); c.net.Heal(h.Host) }

// mount runs jvsfs over the store's directory work, with its records beside it in the store.
func (c *cluster) mount(h *host, p times, extra ...string) {
	c.t.Helper()
	h.Must("mkdir", "-p", sourceDir)
	args := append([]string{c.bin, "mount", sourceDir, viewDir, "--control", storeDir + "/control", "--log-file", h.File("daemon.log")}, p.args()...)
	h.Must(append(args, extra...)...)
}

// umount ends the host's mount, which must leave nothing.
func (c *cluster) umount(h *host) {
	c.t.Helper()
	h.Must(c.bin, "umount", viewDir)
}

// exec runs a line of shell under the lease.
func (c *cluster) exec(h *host, line string, options ...string) (said string, exit int) {
	c.t.Helper()
	return h.Run(c.execArgs(line, options...)...)
}

func (c *cluster) execArgs(line string, options ...string) []string {
	return append(append([]string{c.bin, "exec"}, options...), viewDir, "--", "sh", "-c", line)
}

// stored is a file of the worktree as the store has it.
func (c *cluster) stored(name string) string {
	c.t.Helper()
	return c.store.Must("cat", filepath.Join(c.engine.sees(c), sourceName, name))
}

// requireExit demands that a command ended with an exit code.
func requireExit(t testing.TB, want, got int, said string) {
	t.Helper()
	require.Equal(t, want, got, "%s", said)
}
