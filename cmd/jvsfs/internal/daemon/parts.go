package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/events"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/succession"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Daemon serves one mount. It has the life cycle, from the first descriptor to the end. Its parts do the rest, each with fields of its own
// (wiring.go).
type Daemon struct {
	given    given
	has      opened
	log      *zap.Logger
	resolver *gate.Resolver
	mode     *enforceMode
	journal  *journal.Journal
	events   *events.Feed
	trail    *refusals.Trail
	counts   *metrics.Counts
	meter    *metrics.Meter
	registry *leases.Registry
	survey   *leases.Survey
	agents   *fenceAgents
	state    *recoveryState
	flush    *flusher

	predecessors *succession.Predecessors
	arrival      *succession.Arrival
	retirement   *succession.Retirement
	unmounting   *unmounting
	runs         *runs
	returning    *storewatch.Watch
	answers      answers

	drained  func() // after draining was told
	finished chan struct{}
	finish   func() // closes finished; may be called again
}

// Outside is where a daemon reports: its log and its service manager.
type Outside struct {
	Log        *zap.Logger
	Suppressed *logging.Suppressed     // log lines that were left out; nil counts nothing
	Service    *servicemanager.Service // nil: no service manager is told

	Replaced *lockfile.Rules // of the daemon that is to be replaced; nil: none is

	Authorities func(context.Context) (Authorities, error) // of the configured etcd; called if one is configured

	Off <-chan struct{} // when it is closed nobody wants the mount any more, and New waits for nothing; nil: never
}

// given is what the daemon was asked to serve, and what follows from that alone. It does not change.
type given struct {
	cfg     mountcfg.Config
	place   place.Place
	out     Outside
	since   time.Time
	rules   *lockfile.Rules // of other programs' lock files; nil for none
	layout  layout.Layout   // which guard stands over what
	paths   *paths.Paths
	reached bool // everybody can come to the source
}

// opened is what the daemon has open. It does not change once the daemon is made.
type opened struct {
	exits       *process.ExitWatch
	ruleLocks   *rulelocks.Locks
	fs          *fusefs.Server
	selfFencing *storewatch.SelfFencing // nil without fence_self
	locks       *lease.Dir
	far         bool             // the records are on another machine's file system, which may hang
	store       *api.StoreStatus // that file system, if it is one for several hosts
	authority   Authorities      // who keeps the leases; nil: the claims in locks
	tree        *place.TreeLock  // on the source
	audit       *auditChain
}

// answers are the parts that only answer requests (operations.go).
type answers struct {
	finder     *worktreeFinder
	leases     *leaseOps
	explaining *explaining
	windows    *windows
	recent     *recentRefusals
	modes      *modeSwitch
	doctor     *recordsDoctor
}
