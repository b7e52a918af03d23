//go:build jvsfs_hosts

package etcd

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// members are an etcd of three, each on a host of its own.
type members struct {
	net *machine.Net
	all []*machine.Host
	cmd map[*machine.Host]*exec.Cmd
}

func newMembers(t *testing.T, net *machine.Net) *members {
	m := &members{net: net, cmd: map[*machine.Host]*exec.Cmd{}}
	for _, name := range []string{"m1", "m2", "m3"} {
		h := machine.New(t, name, machine.Network)
		net.Join(h)
		m.all = append(m.all, h)
	}
	for _, h := range m.all {
		m.start(h)
		t.Cleanup(func() { m.kill(h) })
	}
	m.answer()
	return m
}

// start starts a member, with what it had when it ended. It keeps nothing beyond a power failure.
func (m *members) start(h *machine.Host) {
	client, peer := "http://"+h.IP+":2379", "http://"+h.IP+":2380"
	var all []string
	for _, other := range m.all {
		all = append(all, other.Name+"=http://"+other.IP+":2380")
	}
	line := fmt.Sprintf("exec etcd --name %s --data-dir %s --listen-client-urls %s --advertise-client-urls %[3]s --listen-peer-urls %s "+
		"--initial-advertise-peer-urls %[4]s --initial-cluster %s --unsafe-no-fsync >>%s 2>&1", h.Name, h.File("data"), client, peer, strings.Join(all, ","), h.File("etcd.log"))
	cmd := h.Command(context.Background(), "sh", "-c", line)
	require.NoError(h.T, cmd.Start())
	m.cmd[h] = cmd
}

// kill ends a member at once.
func (m *members) kill(h *machine.Host) {
	cmd := m.cmd[h]
	if cmd == nil {
		return
	}
	m.cmd[h] = nil
	for _, pid := range h.Processes(`*etcd" --name "*`) {
		_, _ = h.Run("kill", "-KILL", pid) // what waits for it ends with it
	}
	_ = cmd.Wait()
}

func (m *members) endpoints() string {
	var all []string
	for _, h := range m.all {
		all = append(all, "http://"+h.IP+":2379")
	}
	return strings.Join(all, ",")
}

// answer waits until all members do.
func (m *members) answer() {
	t := m.net.Hub.T
	t.Helper()
	harness.EventuallyNoted(t, "the members of etcd answer", func() (bool, string) {
		said, exit := m.ctl("endpoint", "health")
		return exit == 0, said
	})
}

// ctl is etcdctl on the hub, which reaches everybody.
func (m *members) ctl(args ...string) (said string, exit int) {
	return m.net.Hub.Run(append([]string{"env", "ETCDCTL_API=3", "etcdctl", "--endpoints", m.endpoints(), "--command-timeout", "2s"}, args...)...)
}

// leader is the member that the others follow; the first if that is not known now.
func (m *members) leader() *machine.Host {
	said, _ := m.ctl("endpoint", "status") // the endpoint, id, version, size, whether it leads
	for _, line := range strings.Split(said, "\n") {
		field := strings.Split(line, ", ")
		for _, h := range m.all {
			if len(field) > 4 && strings.Contains(field[0], "//"+h.IP+":") && field[4] == "true" {
				return h
			}
		}
	}
	return m.all[0]
}
