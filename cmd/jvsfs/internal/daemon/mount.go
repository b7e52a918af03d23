package daemon

import (
	"context"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/events"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
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
	joins   bool            // it replaces a daemon that has rules for lock files

	authorities   func(context.Context) (Authorities, error) // opens authority
	replacedRules *lockfile.Rules                            // of the daemon that is to be replaced; nil: none is

	fs        fileSystem
	stats     func() any
	locks     *lease.Dir
	far       bool             // the records are on another machine's file system, which may hang
	store     *api.StoreStatus // that file system, if it is one for several hosts
	authority Authorities      // who keeps the leases; nil: the claims in locks
	tree      *place.TreeLock  // on the source
	audit     *auditChain
	mode      *enforceMode
	resolver  *gate.Resolver
	exits     *process.ExitWatch
	registry  *registry
	journal   *journal.Journal
	ruleLocks *rulelocks.Locks
	reached   bool // everybody can come to the source
	events    *events.Feed

	agents      *fenceAgents
	state       *recoveryState
	selfFencing *storewatch.SelfFencing // nil without fence_self
}

// fileSystem is the part of fusefs.Server that the daemon needs.
type fileSystem interface {
	SourceFD() int
	ShareBorder(dirfd int) error // where mounts agree about exempt paths
	Where(rel string) gate.Where
	Seal(path string) error // a lock directory below the source is nobody's to write
	Prepare() error
	Attach() error
	AttachBeneath(top int) error
	AttachOver(top int) error
	Attached() bool
	Discard()
	Wait()
	Device() (major, minor uint32)
	Unmount() error
	Abort() error
	OpenAbort() (*os.File, error)
	Abandon()   // where a user cannot abort
	LeaveTree() // others may rename roots; after Wait
	ShutRules(ctx context.Context) error
	OpenRules()
	LeaveRules()
	Close() error
	WorktreeOf(rel string) (lease.WorktreeID, bool)
	RootOf(id lease.WorktreeID) string
	Wrote(node int, name string) string
	Shared(rel string) bool
	RuleAt(rel string) *layout.Rule
	Ready(rel string) bool
	Sync() error // what was acknowledged has reached the store
	Stats() fusefs.Stats
	Timings() []fusefs.Timing
}

func (d *mount) device() api.Device {
	major, minor := d.fs.Device()
	return api.Device{Major: major, Minor: minor}
}
