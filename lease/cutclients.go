package lease

import (
	"os"
	"sync"
	"time"
)

// CutClients are the clients of the store that were cut off from here. What a store calls a client is one instance of it, which never comes
// back: the host is let in again with another one, when this one is gone (jvsfs-fence(7)). So each further lease of a client that was cut off is
// taken over without the agent, which would cut off the host's new client. A lease that was renewed since shows that somebody has let a living
// client in: for that one the agent runs. Safe for concurrent use.
type CutClients struct {
	mu    sync.Mutex
	known map[cutClient]time.Time // this host's clock before the agent ran
	order []cutClient             // the oldest first
}

type cutClient struct{ host, name string }

// cutClientsMax bounds what is remembered.
const cutClientsMax = 1024

// note notes that the agent has cut off the client of v; at is the time before it ran.
func (c *CutClients) note(v Victim, at time.Time) {
	if c == nil || v.Client == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := cutClient{v.Holder.Host, v.Client}
	if c.known == nil {
		c.known = map[cutClient]time.Time{}
	}
	if _, is := c.known[one]; !is {
		c.order = append(c.order, one)
	}
	c.known[one] = at
	if len(c.order) > cutClientsMax {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}

// has reports whether the client under which the lease of h was held was cut off after its last renewal, by clocks that differ by skew at most.
// A record that somebody else has written names nobody.
func (c *CutClients) has(h Head, skew time.Duration) bool {
	if c == nil || h.Record == nil || h.Record.StoreClient == "" || h.uid != uint32(os.Geteuid()) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, is := c.known[cutClient{h.Record.Holder().Host, h.Record.StoreClient}]
	return is && h.Record.LastRenewedAt.Add(skew).Before(at)
}
