package daemon

import (
	"context"
	"fmt"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// cutOff is how the configured agent cuts another host off the store. One agent runs at a time, whatever worktree it is for: cluster
// tools are not made for more.
func (d *mount) cutOff() (*lease.CutOff, error) {
	own, err := d.resolver.HolderFor(os.Getpid(), "", "")
	if err != nil {
		return nil, err
	}
	c, err := lockop.CutOffBy(d.cfg.Fence, own, d.locks)
	if err != nil {
		return nil, err
	}
	if c.Clients != nil { // one memory for all leases of the mount
		c.Clients = d.cutClients
	}
	c.Start = d.registry.start
	c.Turn = func(ctx context.Context) (done func(), err error) {
		select {
		case d.agentRuns <- struct{}{}:
			return func() { <-d.agentRuns }, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return c, nil
}

// mayRely refuses to rely on fence agents where no other host takes leases, and so none has an agent run.
func (d *mount) mayRely() error {
	if !d.cfg.RelyOnFence || lease.SharedStore(d.fs.SourceFD()) && lease.SharedStore(d.locks.FD()) {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("rely_on_fence is for a store of several hosts that has the lease records, too: %s or %s is not on one",
		d.place.Root, d.place.LockDir), Next: "leave rely_on_fence out"}
}
