package machine

import (
	"fmt"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Net is links between hosts: each has one to the hub, which passes on between them.
type Net struct {
	Hub    *Host
	prefix string // of addresses: "10.77"
	links  *atomic.Int64
}

// NewNet makes a network around a host. prefix is the first half of its addresses.
func NewNet(hub *Host, prefix string) *Net {
	hub.Sh("echo 1 >/proc/sys/net/ipv4/ip_forward")
	return &Net{Hub: hub, prefix: prefix, links: new(atomic.Int64)}
}

// For is the same network as another test has it.
func (n *Net) For(t testing.TB) *Net {
	return &Net{Hub: n.Hub.For(t), prefix: n.prefix, links: n.links}
}

// Join links a host to the hub.
func (n *Net) Join(h *Host) {
	h.T.Helper()
	link := n.links.Add(1)
	h.link = fmt.Sprintf("to-%s-%d", h.Name, link)
	gate := fmt.Sprintf("%s.%d.1", n.prefix, link)
	h.IP = fmt.Sprintf("%s.%d.2", n.prefix, link)
	// Of the namespaces of the hub this command enters that of the network alone, for it names the host's by the pid seen here.
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(n.Hub.Init), "-n", "--", "ip", "link", "add", "name", h.link,
		"type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(h.Init)).CombinedOutput()
	require.NoError(h.T, err, "%s", out)
	n.Hub.Must("ip", "address", "add", gate+"/24", "dev", h.link)
	n.Hub.Must("ip", "link", "set", h.link, "up")
	h.Must("ip", "address", "add", h.IP+"/24", "dev", "eth0")
	h.Must("ip", "link", "set", "eth0", "up")
	h.Must("ip", "route", "add", "default", "via", gate)
}

// Cut takes a host's link down: what is sent is lost, and nobody is told.
func (n *Net) Cut(h *Host) {
	h.T.Helper()
	n.Hub.Must("ip", "link", "set", h.link, "down")
}

// Heal takes it up.
func (n *Net) Heal(h *Host) {
	h.T.Helper()
	n.Hub.Must("ip", "link", "set", h.link, "up")
}
