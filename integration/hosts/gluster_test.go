//go:build jvsfs_hosts

package hosts

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// gluster is GlusterFS: a volume v of one brick.
type gluster struct{}

func (gluster) title() string { return "GlusterFS" }
func (gluster) kind() string  { return "fuse.glusterfs" }

func (gluster) start(c *cluster) {
	s := c.store
	s.Must("mkdir", "-p", "/mnt/brick/b")
	s.Must("glusterd", "--pid-file=/run/gluster/glusterd.pid", "--log-file="+s.File("glusterd.log"), "--log-level=WARNING")
	harness.EventuallyNoted(c.t, "glusterd answers", func() (bool, string) {
		said, exit := s.Run("gluster", "--mode=script", "volume", "info")
		return exit == 0, said
	})
	c.gluster("volume", "create", "v", storeIP+":/mnt/brick/b", "force")
	// A client whose server is silent for so long gives up what it has asked; the default is 42 s.
	c.gluster("volume", "set", "v", "network.ping-timeout", "10")
	c.gluster("volume", "start", "v")
}

// hasty: the default is 42 s.
func (gluster) hasty(c *cluster) { c.gluster("volume", "set", "v", "server.tcp-user-timeout", "8") }

// strike: the brick.
func (gluster) strike(c *cluster) { c.restartBrick() }

func (gluster) silence() time.Duration { return 8 * time.Second }

func (gluster) client(_ *cluster, h *host, dir string) []string {
	return []string{"glusterfs", "--volfile-server=" + storeIP, "--volfile-id=v", "--log-level=WARNING", "--log-file=" + h.File("client.log"), dir}
}

// sees is the brick: no client has to be asked.
func (gluster) sees(*cluster) string { return "/mnt/brick/b" }

func (gluster) agent(c *cluster, at, victim *host, far string) []string {
	return []string{"fence_jvsfs_gluster", "volume=v", "address=" + victim.IP, "gluster=" + program(c, at, "gluster", "exec "+far+` gluster "$@"`)}
}

func (gluster) letIn(c *cluster, h *host) { c.agentOn(h, "client_gone=yes") }

// gluster runs the store's command line.
func (c *cluster) gluster(args ...string) string {
	c.t.Helper()
	return c.store.Must(append([]string{"gluster", "--mode=script"}, args...)...)
}

// brickPID is the brick's process, as the store sees it.
func (c *cluster) brickPID() string {
	c.t.Helper()
	return strings.TrimSpace(c.store.Sh("cat /run/gluster/vols/v/*.pid"))
}

// restartBrick kills the brick and starts it again. It knows none of the locks that it has granted.
func (c *cluster) restartBrick() {
	c.t.Helper()
	old := c.brickPID()
	c.store.Must("kill", "-KILL", old)
	harness.Eventually(c.t, "the brick has ended", func() bool {
		_, exit := c.store.Run("test", "-d", "/proc/"+old)
		return exit != 0
	})
	harness.EventuallyNoted(c.t, "the brick is up again", func() (bool, string) {
		said, exit := c.store.Run("gluster", "--mode=script", "volume", "start", "v", "force")
		pid, _ := c.store.Run("sh", "-c", "cat /run/gluster/vols/v/*.pid")
		return exit == 0 && strings.TrimSpace(pid) != old, said + pid
	})
}

// A brick that is started again has forgotten every lock. The holder notices at its next renewal, closes its fence, takes the gate
// again and goes on under its token.
func TestQuickAHolderGoesOnWhenABrickForgotItsLock(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := newGluster(t)
	h := c.join("h1")
	c.mount(h, brief)
	held := c.hold(h)
	c.restartBrick()
	harness.EventuallyNoted(t, "the loss of the gate is in the audit", func() (bool, string) {
		said, _ := h.Run(c.bin, "audit", "tail", viewDir)
		return strings.Contains(said, "lost this holder's lock"), said
	})
	held.release()
	said, exit := c.exec(h, "echo after >"+viewDir+"/file && echo token $JVSFS_TOKEN")
	requireExit(t, 0, exit, said)
	require.Contains(t, said, "token 2", "it went on under token 1")
	c.umount(h)
}
