//go:build jvsfs_hosts

package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// cluster is a tree that all hosts see, and the etcd that keeps its leases.
type cluster struct {
	t    *testing.T
	bin  string
	dir  string
	etcd *server
	ways map[*machine.Host]*way
}

// viewDir is where each host has its mount.
const viewDir = "/mnt/view"

// The times of a lease: brief is for what waits for its end, calm for leases that do not end by themselves.
const brief, calm = "lease_duration: 12s\nrenew_interval: 4s", "lease_duration: 3m\nrenew_interval: 1m"

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, bin: ordinary(t), dir: harness.NewBase(t), etcd: newServer(t), ways: map[*machine.Host]*way{}}
	require.NoError(t, os.Mkdir(c.path("work"), 0o755))
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// join makes a host that is configured for etcd, through a way of its own.
func (c *cluster) join(name string, more ...string) *machine.Host {
	c.t.Helper()
	h := machine.New(c.t, name)
	c.ways[h] = newWay(c.t, c.etcd.client)
	text := fmt.Sprintf("etcd: http://%s\netcd_prefix: /jvsfs/builds\n", c.ways[h].l.Addr())
	if !slices.Contains(more, calm) {
		more = append(more, brief)
	}
	for _, line := range more {
		text += line + "\n"
	}
	require.NoError(c.t, os.WriteFile(h.File("jvsfs.yaml"), []byte(text), 0o600))
	h.Must("mkdir", "-p", viewDir)
	return h
}

func (c *cluster) mountArgs(h *machine.Host, extra ...string) []string {
	return append([]string{c.bin, "mount", c.path("work"), viewDir, "--config", h.File("jvsfs.yaml"), "--control", c.path("control"), "--log-file", h.File("daemon.log")}, extra...)
}

func (c *cluster) mount(h *machine.Host) { c.t.Helper(); h.Must(c.mountArgs(h)...) }

// umount ends the host's mount, which must leave nothing.
func (c *cluster) umount(h *machine.Host) { c.t.Helper(); h.Must(c.bin, "umount", viewDir) }

func (c *cluster) exec(h *machine.Host, line string, options ...string) (said string, exit int) {
	c.t.Helper()
	return h.Run(c.execArgs(line, options...)...)
}

func (c *cluster) execArgs(line string, options ...string) []string {
	return append(append([]string{c.bin, "exec"}, options...), viewDir, "--", "sh", "-c", line)
}

func (c *cluster) stored(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.path("work"), name))
	require.NoError(c.t, err)
	return string(text)
}

// audited are the keys of the audit in etcd.
func (c *cluster) audited() string {
	c.t.Helper()
	return c.etcd.ctl(c.t, "get", "--prefix", "--keys-only", "/jvsfs/builds/audit/")
}

func requireExit(t testing.TB, want, got int, said string) {
	t.Helper()
	require.Equal(t, want, got, "%s", said)
}

// holder is a jvsfs exec on a host that holds the lease until it is told to end.
type holder struct {
	j   *machine.Job
	end string
}

// hold takes the lease on a host. It has it when it returns.
func (c *cluster) hold(h *machine.Host, options ...string) *holder {
	c.t.Helper()
	mark, err := os.MkdirTemp(h.Dir, "hold-")
	require.NoError(c.t, err)
	line := "echo >" + mark + "/begun; until [ -e " + mark + "/end ]; do sleep 0.05; done"
	k := &holder{end: mark + "/end", j: h.Start(c.execArgs(line, options...)...)}
	harness.EventuallyNoted(c.t, h.Name+" holds", func() (bool, string) {
		_, err := os.Stat(mark + "/begun")
		return err == nil, k.j.Said() + h.Logs()
	})
	return k
}

// release lets the command end, which must have kept the lease.
func (k *holder) release(t testing.TB) {
	t.Helper()
	require.NoError(t, os.WriteFile(k.end, nil, 0o644))
	exit, said := k.j.Wait()
	requireExit(t, 0, exit, said+k.j.Host.Logs())
}
