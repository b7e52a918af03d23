//go:build jvsfs_hosts

package etcd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// completeProgram is jvsfs-etcd, beside the jvsfs that all stories run.
var completeProgram = sync.OnceValue(func() error {
	return harness.BuildBinary(filepath.Join(harness.Scratch, "bin", "jvsfs-etcd"), "-tags", "jvsfs_etcd")
})

// ordinary is jvsfs as it is shipped, which has no client of etcd, with the program beside it that has.
func ordinary(t testing.TB) string {
	t.Helper()
	require.NoError(t, completeProgram())
	return harness.RequireBinary(t)
}

// requireComplete demands that the complete program serves the host's mount, as the process of its caller's command line, and that what
// it starts does not learn how it came there.
func (c *cluster) requireComplete(h *machine.Host) {
	c.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", c.daemon(h))
	require.Equal(c.t, filepath.Join(filepath.Dir(c.bin), "jvsfs-etcd"), strings.TrimSpace(h.Must("readlink", proc+"exe")))
	require.True(c.t, strings.HasPrefix(h.Sh("tr '\\0' ' ' <"+proc+"cmdline"), c.bin+" mount "))
	guardians := h.Processes(`*" guardian "*`)
	require.NotEmpty(c.t, guardians)
	for _, pid := range guardians {
		require.NotContains(c.t, h.Sh("tr '\\0' '\\n' </proc/"+pid+"/environ"), "JVSFS_ETCD_FOR")
	}
}

// The ordinary program mounts with leases in etcd, by all ways that lead to a daemon. What asks the daemon stays the ordinary one.
func TestQuickTheOrdinaryProgramMountsThroughTheCompleteOne(t *testing.T) {
	c := newCluster(t)
	h := c.join("h1", calm)
	c.mount(h)
	c.requireComplete(h)
	said, exit := c.exec(h, "readlink /proc/$PPID/exe; echo one >"+viewDir+"/file; echo token $JVSFS_TOKEN")
	requireExit(t, 0, exit, said+h.Logs())
	require.Contains(t, said, c.bin+"\n")
	require.Contains(t, said, "token 1")
	t.Run("replace", func(t *testing.T) {
		before := c.daemon(h)
		h.Must(c.mountArgs(h, "--replace")...)
		require.NotEqual(t, before, c.daemon(h))
		c.requireComplete(h)
	})
	t.Run("recover", func(t *testing.T) {
		h.Must("kill", "-KILL", strconv.Itoa(c.daemon(h)))
		h.Must(c.bin, "recover", viewDir)
		c.requireComplete(h)
	})
	c.umount(h)
	t.Run("mount(8)", func(t *testing.T) {
		helper := h.File("mount.fuse.jvsfs")
		require.NoError(t, os.Symlink(c.bin, helper))
		options := fmt.Sprintf("config=%s,control=%s,log_file=%s", h.File("jvsfs.yaml"), c.path("control"), h.File("daemon.log"))
		require.Empty(t, h.Must(helper, c.path("work"), viewDir, "-o", options), "mount(8) is silent while all is well")
		require.NotEmpty(t, h.Processes(`*" mount -o config="*`))
		c.umount(h)
	})
	t.Run("a unit", func(t *testing.T) {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.File("notify"), Net: "unixgram"})
		require.NoError(t, err)
		defer manager.Close() // nothing is said any more
		unit := h.Start(append([]string{"env", "NOTIFY_SOCKET=" + h.File("notify")}, c.mountArgs(h, "--foreground")...)...)
		said := make([]byte, 4096)
		require.NoError(t, manager.SetReadDeadline(time.Now().Add(harness.Patience)))
		n, err := manager.Read(said)
		require.NoError(t, err, "%s%s", unit.Said(), h.Logs())
		require.Contains(t, string(said[:n]), "READY=1")
		c.requireComplete(h)
		c.umount(h)
		exit, text := unit.Wait()
		requireExit(t, 0, exit, text)
	})
}

// Without the complete program, and with one that is not to be trusted, nothing is mounted, and one error says what is to be done.
func TestQuickWithoutTheCompleteProgramNothingIsMounted(t *testing.T) {
	c := newCluster(t)
	h := c.join("h1")
	complete := filepath.Join(filepath.Dir(c.bin), "jvsfs-etcd")
	own := h.File("bin")
	require.NoError(t, os.Mkdir(own, 0o755))
	c.bin = filepath.Join(own, "jvsfs")
	require.NoError(t, harness.CopyBinary(harness.RequireBinary(t), c.bin))
	refused := func(why string) {
		t.Helper()
		said, exit := h.Run(c.mountArgs(h)...)
		requireExit(t, 2, exit, said)
		require.Contains(t, said, "the leases are to be kept in etcd ("+h.File("jvsfs.yaml")+":1)")
		require.Contains(t, said, why)
		require.NotContains(t, h.Must("cat", "/proc/self/mounts"), viewDir+" fuse.jvsfs")
	}
	refused("there is no jvsfs-etcd: looked for " + own + "/jvsfs-etcd and /usr/lib/jvsfs/jvsfs-etcd")
	require.NoError(t, harness.CopyBinary(complete, own+"/jvsfs-etcd"))
	require.NoError(t, os.Chmod(own+"/jvsfs-etcd", 0o777))
	refused("others than the owner may write " + own + "/jvsfs-etcd")
	require.NoError(t, os.Chmod(own+"/jvsfs-etcd", 0o755))
	c.mount(h)
	c.requireComplete(h)
	c.umount(h)
}
