package daemon

import (
	"context"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// fenceAgents has the configured agent cut another host off the store. One agent runs at a time, whatever worktree it is for: cluster
// tools are not made for more.
type fenceAgents struct {
	resolver *gate.Resolver
	fence    []string // its command
	locks    *lease.Dir
	start    func(func(context.Context)) // registry.Start
	turn     chan struct{}               // capacity 1: an agent runs
	clients  *lease.CutClients           // whom it has cut off; one memory for all leases of the mount
}

// cutOff is how the agent is run for one lease.
func (a *fenceAgents) cutOff() (*lease.CutOff, error) {
	own, err := a.resolver.HolderFor(os.Getpid(), "", "")
	if err != nil {
		return nil, err
	}
	c, err := lockop.CutOffBy(a.fence, own, a.locks)
	if err != nil {
		return nil, err
	}
	if c.Clients != nil {
		c.Clients = a.clients
	}
	c.Start = a.start
	c.Turn = func(ctx context.Context) (done func(), err error) {
		select {
		case a.turn <- struct{}{}:
			return func() { <-a.turn }, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return c, nil
}
