//go:build jvsfs_hosts

package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Where things are on every host.
const (
	storeIP  = "10.77.0.1"
	storeDir = "/mnt/store" // the client's mount
	viewDir  = "/mnt/view"  // jvsfs over it
)

// cluster is a store and the hosts that use it.
type cluster struct {
	t      *testing.T
	bin    string
	engine engine
	store  *host
	links  int
}

// newCluster starts the store. It keeps everything in memory: that ends with it, and its disk fails no test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, bin: harness.RequireBinary(t), engine: engineOfRun(t), store: newHost(t, "store")}
	c.store.must("ip", "address", "add", storeIP+"/32", "dev", "lo")
	c.engine.start(c)
	return c
}

// join makes a host with a link to the store and a client.
func (c *cluster) join(name string) *host {
	c.t.Helper()
	h := newHost(c.t, name)
	c.links++
	h.ip = fmt.Sprintf("10.77.%d.2", c.links)
	gate := fmt.Sprintf("10.77.%d.1", c.links)
	// Of the namespaces of the store this command enters that of the network alone, for it names the host's by the pid seen here.
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(c.store.init), "-n", "--", "ip", "link", "add", "name", "to-"+name,
		"type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(h.init)).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	c.store.must("ip", "address", "add", gate+"/24", "dev", "to-"+name)
	c.store.must("ip", "link", "set", "to-"+name, "up")
	h.must("ip", "address", "add", h.ip+"/24", "dev", "eth0")
	h.must("ip", "link", "set", "eth0", "up")
	h.must("ip", "route", "add", "default", "via", gate)
	h.must("mkdir", "-p", viewDir)
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
	h.must("mkdir", "-p", dir)
	c.t.Cleanup(func() { h.abort(dir) })
	harness.EventuallyNoted(c.t, h.name+" mounts the store", func() (bool, string) {
		said, _ := h.run(c.engine.client(c, h, dir)...)
		return h.mounted(dir, c.engine.kind()), said + h.logs()
	})
}

// abort ends the connection of a client, whatever waits for it. A client that waits for its own mount, as that of JuiceFS does to look
// after itself, could not be killed.
func (h *host) abort(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	_ = h.command(ctx, "umount", "-f", "-c", "-i", dir).Run() // it may be in use, or gone
}

// mounted is whether the host's client answers.
func (h *host) mounted(dir, kind string) bool {
	said, exit := h.run("stat", "-f", "-c", "%T", dir)
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", h.init))
	return exit == 0 && said != "" && err == nil && strings.Contains(string(mounts), dir+" "+kind+" ")
}

// clients is the host's client of the store, as the host sees it. That of JuiceFS is two processes, of which one looks after the other.
func (h *host) clients() []string {
	h.t.Helper()
	pids := h.processes(`*" ` + storeDir + `"[" )"]*`) // mfsmount writes a sentence there
	require.NotEmpty(h.t, pids, "clients of the store")
	return pids
}

// processes are those of the host whose command line, with a space behind each word, has a shell pattern. The shell that looks has it
// in its own, so it leaves itself and its parents out.
func (h *host) processes(pattern string) []string {
	h.t.Helper()
	return strings.Fields(h.sh(`exec 2>/dev/null; for p in /proc/[0-9]*; do case ${p#/proc/} in 1|$$) continue;; esac
		case " $(tr '\0' ' ' <$p/cmdline)" in ` + pattern + `) echo "${p#/proc/}";; esac; done; true`))
}

// freeze stops the host's client of the store: every call to the store waits.
func (h *host) freeze() { h.t.Helper(); h.signal("STOP", h.clients()) }

// thaw lets it go on.
func (h *host) thaw() { h.t.Helper(); h.signal("CONT", h.clients()) }

// signal sends a signal to processes of the host.
func (h *host) signal(name string, pids []string) {
	h.t.Helper()
	h.must(append([]string{"kill", "-" + name}, pids...)...)
}

// partition takes the host's link down, heal takes it up.
func (c *cluster) partition(h *host) {
	c.t.Helper()
	c.store.must("ip", "link", "set", "to-"+h.name, "down")
}

func (c *cluster) heal(h *host) {
	c.t.Helper()
	c.store.must("ip", "link", "set", "to-"+h.name, "up")
}

// mount runs jvsfs over the store's directory work, with its records beside it in the store.
func (c *cluster) mount(h *host, p times, extra ...string) {
	c.t.Helper()
	h.must("mkdir", "-p", storeDir+"/work")
	args := append([]string{c.bin, "mount", storeDir + "/work", viewDir, "--control", storeDir + "/control", "--log-file", h.file("daemon.log")}, p.args()...)
	h.must(append(args, extra...)...)
}

// umount ends the host's mount, which must leave nothing.
func (c *cluster) umount(h *host) {
	c.t.Helper()
	h.must(c.bin, "umount", viewDir)
}

// exec runs a line of shell under the lease.
func (c *cluster) exec(h *host, line string, options ...string) (said string, exit int) {
	c.t.Helper()
	return h.run(c.execArgs(line, options...)...)
}

func (c *cluster) execArgs(line string, options ...string) []string {
	return append(append([]string{c.bin, "exec"}, options...), viewDir, "--", "sh", "-c", line)
}

// stored is a file of the worktree as the store has it.
func (c *cluster) stored(name string) string {
	c.t.Helper()
	return c.store.must("cat", filepath.Join(c.engine.sees(c), "work", name))
}

// requireExit demands that a command ended with an exit code.
func requireExit(t testing.TB, want, got int, said string) {
	t.Helper()
	require.Equal(t, want, got, "%s", said)
}
