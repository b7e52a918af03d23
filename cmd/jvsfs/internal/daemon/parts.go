package daemon

import (
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// leaseOps answers the requests about a lease: acquire, steal, renew, release, hand over,
// watch, lock status and explain (handle_acquire.go, handle_holder.go, handle_handover.go).
type leaseOps struct {
	resolver   *gate.Resolver
	paths      *paths.Paths
	locks      *lease.Dir
	survey     *survey
	succession interface {
		stayers
		letIn(what control.Change) (leave func(), err error)
		shutBehind(err error) error
	}
	take     func() (done func())                 // registry.take
	admitted func(lease.WorktreeID, lease.Holder) // somebody has acquired on purpose
	flush    *flusher
	log      *zap.Logger
}

// succession is how a daemon follows another one, by recovery or replacement (appear.go, replace.go), and how
// another one follows it (handle_retire.go).
type succession struct {
	*mount
	recovery *recovery.Recovery // nil: there is no mount to recover or to replace
	replaced *host.MountState   // of the daemon that this one replaces, nil for none

	retirement retirement
	rulesLeft  chan struct{} // closed when another daemon has the locks of rules
}

// unmounting unmounts, by a request or a signal (handle_umount.go, end.go).
type unmounting struct {
	*mount
	trail   *refusals.Trail
	flush   *flusher
	mountID atomic.Int64  // of the mount in mountinfo, 0 while it is not known
	ended   chan struct{} // closed when the kernel has dropped the mount everywhere
	umount  sync.Mutex    // one at a time
	forNext bool          // the mount was left dead, for the next daemon; under umount
}
