package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/events"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// mount is what all parts of a daemon share. Its fields do not change once it was opened. What they point to is
// safe for concurrent use.
type mount struct {
	cfg     mountcfg.Config
	place   place.Place
	paths   *paths.Paths
	layout  layout.Layout   // which guard stands over what
	rules   *lockfile.Rules // of other programs' lock files; nil for none
	log     *zap.Logger
	since   time.Time
	service *servicemanager.Service
	off     <-chan struct{} // closed when nobody wants the mount any more
	forRuns bool            // it was made for runs, and goes with the last of them
	joins   bool            // it replaces a daemon that has rules for lock files

	authorities   func(context.Context) (Authorities, error) // opens authority
	replacedRules *lockfile.Rules                            // of the daemon that is to be replaced; nil: none is
	taking        sync.RWMutex                               // read-locked while somebody asks for a lease, and may wait for it

	fs        fileSystem
	stats     func() any
	locks     *lease.Dir
	far       bool // the records are on another machine's file system, which may hang
	asks      storeAsks
	store     *api.StoreStatus // that file system, if it is one for several hosts
	authority Authorities      // who keeps the leases; nil: the claims in locks
	tree      *place.TreeLock  // on the source
	audit     *audit.Log
	mode      *enforceMode
	resolver  *gate.Resolver
	exits     *process.ExitWatch
	registry  *registry
	journal   *journal.Journal
	ruleLocks *rulelocks.Locks
	reached   bool // everybody can come to the source
	events    *events.Feed

	agentRuns   chan struct{}           // capacity 1: the fence agent runs (cutoff.go)
	cutClients  *lease.CutClients       // whom it has cut off
	onMounts    *string                 // see storeMounts
	selfFencing *storewatch.SelfFencing // nil without fence_self
}

// leaseOps answers the requests about a lease: acquire, steal, renew, release, hand over,
// watch, lock status and explain (handle_acquire.go, handle_holder.go, handle_handover.go).
type leaseOps struct {
	*mount
	succession *succession

	flushing chan struct{}  // capacity 1: one flush of a handover at a time
	left     sync.WaitGroup // flushes that a handover has not waited for
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

// modeSwitch shows and switches how the mount treats writes without the lease (handle_enforce.go).
type modeSwitch struct {
	*mount
	succession *succession
	switching  sync.Mutex
}

// unmounting unmounts, by a request or a signal (handle_umount.go, end.go).
type unmounting struct {
	*mount
	trail   *refusals.Trail
	mountID atomic.Int64  // of the mount in mountinfo, 0 while it is not known
	ended   chan struct{} // closed when the kernel has dropped the mount everywhere
	umount  sync.Mutex    // one at a time
	forNext bool          // the mount was left dead, for the next daemon; under umount
}
