package exec

import (
	"context"
	"sync"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/lease"
)

// holding is a lease that is held for a child, by the daemon or by this process.
type holding interface {
	// acquire returns when the lease is held.
	acquire(ctx context.Context) error
	// held is the lease, once acquire has returned.
	held() HeldLease
	// lost tells why the lease ended, once; never before acquire has returned.
	lost() <-chan string
	// release gives it back and ends everything that acquire started. It may be
	// called when acquire failed.
	release() error
}

// localHolding is exec without a mount: this process renews the lease itself.
type localHolding struct {
	e      *Command
	t      client.Target
	terms  lockop.Terms
	c      *child.Child
	reason chan string

	lease  HeldLease
	lock   *lockop.Local
	keeper *lease.Keeper
	cancel context.CancelFunc
	ended  chan error
}

// remoteHolding is a lease that the daemon of a mount keeps. The connection stays
// open while CMD runs; the daemon writes a line on it when the lease is lost.
type remoteHolding struct {
	t      client.Target
	c      *child.Child
	req    api.Acquire
	lease  HeldLease // once it is held
	joined bool      // it is that of the holder which this process belongs to
	note   func(string)
	reason chan string

	watch sync.WaitGroup
	ours  bool            // the lease, to be released
	over  context.Context // ends with release
	end   context.CancelFunc

	mu     sync.Mutex
	client *client.Client
}
