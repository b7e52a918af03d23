package daemon

import (
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// leaseOps answers the requests about a lease: acquire, steal, renew, release, hand over,
// watch, lock status and explain (handle_acquire.go, handle_holder.go, handle_handover.go).
type leaseOps struct {
	resolver     *gate.Resolver
	paths        *paths.Paths
	locks        *lease.Dir
	survey       *survey
	predecessors stayers
	retirement   interface {
		LetIn(what control.Change) (leave func(), err error)
		Reworded(closing error) error
	}
	take     func() (done func())                 // registry.take
	admitted func(lease.WorktreeID, lease.Holder) // somebody has acquired on purpose
	flush    *flusher
	log      *zap.Logger
}

// unmounting unmounts, by a request or a signal (handle_umount.go, end.go).
type unmounting struct {
	mountpoint string
	source     string
	device     func() api.Device
	journal    *journal.Journal
	service    *servicemanager.Service
	log        *zap.Logger
	flush      func() error // makes all writes durable
	forget     func() error // removes the state for a recovery
	letGo      func()       // others may serve the tree; after the end
	flushTrail func()       // after it all refusals can be found
	fs         interface {
		Unmount() error
		Abort() error
		Abandon()   // where a user cannot abort
		LeaveTree() // others may rename roots; after Wait
	}
	leases interface {
		shutLatches(shut bool)
		Part()
		Close() error
	}

	mountID atomic.Int64  // of the mount in mountinfo, 0 while it is not known
	ended   chan struct{} // closed when the kernel has dropped the mount everywhere
	umount  sync.Mutex    // one at a time
	forNext bool          // the mount was left dead, for the next daemon; under umount
}
