//go:build jvsfs_hosts

package hosts

import (
	"testing"

	"github.com/jvsfs/jvsfs/integration/machine"
)

// host is a machine with a network of its own, and what the clients of a store need for themselves.
type host struct{ *machine.Host }

func newHost(t testing.TB, name string) *host {
	t.Helper()
	return &host{machine.New(t, name, machine.Network, "/run/gluster", "/run/ceph", "/var/log/jvsfs", "/var/log/glusterfs",
		"/var/log/ceph", "/var/lib/glusterd")}
}
