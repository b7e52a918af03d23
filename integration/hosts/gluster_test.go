//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"os"
	"os/exec"
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

// cluster is a GlusterFS volume of one brick and the hosts that use it.
type cluster struct {
	t     *testing.T
	bin   string
	store *host
	links int
}

// newCluster starts the store. The brick is in memory: it ends with the store, and its disk fails no test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, bin: harness.RequireBinary(t), store: newHost(t, "store")}
	s := c.store
	s.must("ip", "address", "add", storeIP+"/32", "dev", "lo")
	s.must("mkdir", "-p", "/mnt/brick/b")
	s.must("glusterd", "--pid-file=/run/gluster/glusterd.pid", "--log-file="+s.file("glusterd.log"), "--log-level=WARNING")
	harness.EventuallyNoted(t, "glusterd answers", func() (bool, string) {
		said, exit := s.run("gluster", "--mode=script", "volume", "info")
		return exit == 0, said
	})
	c.gluster("volume", "create", "v", storeIP+":/mnt/brick/b", "force")
	// A client whose server is silent for so long gives up what it has asked; the default is 42 s.
	c.gluster("volume", "set", "v", "network.ping-timeout", "10")
	c.gluster("volume", "start", "v")
	return c
}

// gluster runs the store's command line.
func (c *cluster) gluster(args ...string) string {
	c.t.Helper()
	return c.store.must(append([]string{"gluster", "--mode=script"}, args...)...)
}

// brickPID is the brick's process, as the store sees it.
func (c *cluster) brickPID() string {
	c.t.Helper()
	return strings.TrimSpace(c.store.sh("cat /run/gluster/vols/v/*.pid"))
}

// restartBrick kills the brick and starts it again. It knows none of the locks that it has granted.
func (c *cluster) restartBrick() {
	c.t.Helper()
	old := c.brickPID()
	c.store.must("kill", "-KILL", old)
	harness.Eventually(c.t, "the brick has ended", func() bool {
		_, exit := c.store.run("test", "-d", "/proc/"+old)
		return exit != 0
	})
	harness.EventuallyNoted(c.t, "the brick is up again", func() (bool, string) {
		said, exit := c.store.run("gluster", "--mode=script", "volume", "start", "v", "force")
		pid, _ := c.store.run("sh", "-c", "cat /run/gluster/vols/v/*.pid")
		return exit == 0 && strings.TrimSpace(pid) != old, said + pid
	})
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
	h.must("mkdir", "-p", storeDir, viewDir)
	c.connect(h)
	return h
}

// connect starts the host's client of the store. It has mounted when it returns.
func (c *cluster) connect(h *host) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, h.name+" mounts the volume", func() (bool, string) {
		said, _ := h.run("glusterfs", "--volfile-server="+storeIP, "--volfile-id=v", "--log-level=WARNING",
			"--log-file="+h.file("client.log"), "--pid-file=/run/gluster/client.pid", storeDir)
		return h.storeIsMounted(), said + h.logs()
	})
}

// storeIsMounted is whether the host's client answers.
func (h *host) storeIsMounted() bool {
	said, exit := h.run("stat", "-f", "-c", "%T", storeDir)
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", h.init))
	return exit == 0 && said != "" && err == nil && strings.Contains(string(mounts), storeDir+" fuse.glusterfs")
}

// clientPID is the host's client of the store, as the host sees it.
func (h *host) clientPID() string {
	h.t.Helper()
	return strings.TrimSpace(h.sh("cat /run/gluster/client.pid"))
}

// freeze stops the host's client of the store: every call to the store waits.
func (h *host) freeze() { h.t.Helper(); h.must("kill", "-STOP", h.clientPID()) }

// thaw lets it go on.
func (h *host) thaw() { h.t.Helper(); h.must("kill", "-CONT", h.clientPID()) }

// partition takes the host's link down, heal takes it up.
func (c *cluster) partition(h *host) {
	c.t.Helper()
	c.store.must("ip", "link", "set", "to-"+h.name, "down")
}

func (c *cluster) heal(h *host) {
	c.t.Helper()
	c.store.must("ip", "link", "set", "to-"+h.name, "up")
}

// mount runs jvsfs over the volume's directory work, with its records beside it in the volume.
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

// stored is a file of the volume as the store has it.
func (c *cluster) stored(name string) string {
	c.t.Helper()
	return c.store.must("cat", "/mnt/brick/b/work/"+name)
}

// requireRefused demands that a command ended with an exit code and said why.
func requireExit(t testing.TB, want, got int, said string) {
	t.Helper()
	require.Equal(t, want, got, "%s", said)
}
