package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Leaseholder is what the guard needs of the lease's keeper. *lease.Keeper implements it.
type Leaseholder interface {
	Acquire(ctx context.Context, h lease.Holder) (lease.Grant, error)
	Observe() (lease.Head, lease.Judgement)
	Late(w lease.LateWrite) error
	// Past returns the claims from a token up to the head.
	Past(from, head lease.Token) ([]lease.Past, error)
	// Look makes the keeper look at its holder at once. It does not wait.
	Look()
}

// GuardConfig is how an admin configured one worktree.
type GuardConfig struct {
	Worktree lease.WorktreeID
	Root     string // for messages
	Mode     Mode
	OnFree   OnFree
	Scope    Scope
	Errno    syscall.Errno // of every refusal; 0 is EROFS
	// WaitOnConflict is how long a writer waits for another holder to end. 0: it is refused at once.
	WaitOnConflict time.Duration
	Policy         record.Policy
	Clock          lease.Clock
	Resolver       *Resolver
	// Exits tells when holders end. With nil only the keeper looks for that.
	Exits *process.ExitWatch
	// Lock is the lock file that the guard follows; nil: it follows the lease of Worktree.
	Lock *LockFile
	// Until is when the maintenance window ends that is open there (LockFile.Until). nil: there are none.
	Until func() time.Time
	// MakeOnFree lets a name be made that does not exist yet while nobody holds the lock.
	MakeOnFree bool
	// Enforcement is shared by the mount. nil enforces and is never switched.
	Enforcement *Enforcement
	// Exempt says where anybody may write. nil: nowhere.
	Exempt *Exempt
	// Wrote names what is written, for people: the inode behind a descriptor, or an entry in the
	// directory behind it. It must not block. May be nil.
	Wrote func(node int, name string) string
	// OnExempt gets every mutation that is admitted for its place, in the request's own goroutine.
	// It must not block. May be nil.
	OnExempt func(Exemption)
	// OnRefusal gets every refusal, in the request's own goroutine, and also what Observing would
	// have refused. It must not block. May be nil.
	OnRefusal func(*Refusal)
}

// Guard is the fence of one worktree: its configuration (cfg), the epochs (fence), who may not come
// back (leaseHistory), what is counted (statistics) and the hooks. It implements lease.Fence. All
// methods are safe for concurrent use.
type Guard struct {
	cfg    GuardConfig
	keeper Leaseholder

	fence
	leaseHistory
	statistics
	hooks

	frozen   atomic.Pointer[Freeze] // while the worktree's name changes
	overlaps atomic.Bool            // see Overlap
	patience time.Duration          // freezePatience, but in tests
	members  members
	queue    wait.Queue     // of those who wait for the lease
	opened   wait.Broadcast // tells of each Open
}

// fence holds the epochs of a guard. A mutation enters one of them or is refused.
type fence struct {
	clock    lease.Clock
	open     atomic.Pointer[epoch] // the epoch of the lease, nil while closed
	last     atomic.Pointer[epoch] // the latest epoch of a lease, open or not
	free     atomic.Pointer[epoch] // writes without a lease (AllowOnFree); made under mu; may be nil
	lastFree atomic.Pointer[epoch] // the latest of those, over or not
	opening  atomic.Bool           // a lease is about to open: nothing may enter without one
	shared   *epoch                // the one epoch of mode shared
	exempt   *epoch                // the one epoch of mutations admitted for their place

	mu      sync.Mutex      // guards what follows, and leaseHistory
	loss    lease.Loss      // why open is nil
	closing chan struct{}   // set while an epoch is being closed; closed when that is over
	pausing *epoch          // ended by a deadline; its holder is about to go on
	turn    context.Context // ends when a close begins; bounds acquiring for a writer
	endTurn context.CancelFunc
	freeSeq uint64
	inVain  lease.Token // a wait for its release was in vain, see waitForRelease
}

// leaseHistory is what a guard knows of leases that have ended. Under mu of the fence, except learn.
type leaseHistory struct {
	revoked revocations
	learnt  headKey // how far the records have been read
	past    []lease.Past
	learn   sync.Mutex // one goroutine at a time reads the records; locked before mu
}

// NewGuard makes a closed guard. Bind must follow before the first Enter.
func NewGuard(cfg GuardConfig) *Guard {
	if cfg.Errno == 0 {
		cfg.Errno = syscall.EROFS
	}
	if cfg.Enforcement == nil {
		cfg.Enforcement = NewEnforcement(Enforcing)
	}
	g := &Guard{
		cfg: cfg, patience: freezePatience, fence: fence{
			clock:  cfg.Clock,
			shared: newEpoch(sharedEpoch, lease.Holder{}, never, 0), exempt: newEpoch(ByPlace, lease.Holder{}, never, 0),
		},
	}
	g.turn, g.endTurn = context.WithCancel(context.Background())
	return g
}

// Bind gives the guard its keeper. The keeper has the guard as its Fence.
func (g *Guard) Bind(l Leaseholder) { g.keeper = l }

// Worktree returns the id of the worktree.
func (g *Guard) Worktree() lease.WorktreeID { return g.cfg.Worktree }

// Scope returns the scope for a lease taken on purpose.
func (g *Guard) Scope() Scope {
	if g.cfg.Scope == ScopeDefault {
		return ScopeTree
	}
	return g.cfg.Scope
}

// Open lets the holder's writers in until the grant's deadline (boot clock). Writes without a lease
// are drained first. Source: lease.Fence.
func (g *Guard) Open(gr lease.Grant) {
	g.opening.Store(true)
	defer g.opening.Store(false)
	g.endFree()
	g.told(func(s windowState) windowState { return s.granted(gr.Token) })
	e := newEpoch(EpochOf(gr.Token), gr.Holder, gr.Deadline, g.cfg.Clock.Boot())
	e.look = gr.Late
	e.ofGrant(gr)
	e.exit = g.cfg.Resolver.watchHolder(gr.Holder, g.cfg.Exits, g.keeper.Look)
	e.follow(g.last.Load())
	if last := g.last.Swap(e); last != nil && e.covers(last.id) {
		e.handles = last.handles // a renewal failed and then succeeded, or the holder was paused: the open files are the same
	}
	g.members.reset()
	g.begin(gr)
	old := g.open.Swap(e)
	g.succeed(e)
	if old != nil {
		old.end() // the keeper closes before it opens; this is for a keeper with a bug
		old.passed()
	}
	g.opened.Tell()
}

// Extend moves the deadline of the open epoch. Source: lease.Fence.
func (f *fence) Extend(t lease.Token, deadline time.Duration) {
	if e := f.open.Load(); e != nil && e.id == EpochOf(t) {
		e.deadline.Store(int64(deadline))
	}
}

// Close refuses from now on. It returns when no mutation of the epoch is in flight and the kernel's
// caches of it are gone. The order is: refuse, drain, drop caches. Then the keeper reports and
// unlocks the gate lock. Source: lease.Fence.
func (g *Guard) Close(l lease.Loss) {
	g.told(func(s windowState) windowState { return s.lost(l.Kind) })
	if l.Kind == lease.LossResumed {
		g.pause(l)
		return
	}
	if l.Kind == lease.LossPaused {
		g.save()
	}
	// Not while the epoch is frozen: its write-backs wait for the outcome, and only this Close can
	// be that outcome. Or they are refused.
	if e := g.open.Load(); givenBack(l.Kind) && (e == nil || e.stopped.Load() == nil) {
		_ = g.yield(context.Background()) // which does not end
	}
	g.mu.Lock()
	e, over := g.paused()
	if e == nil {
		e, over = g.open.Swap(nil), make(chan struct{})
	}
	g.closing = over
	g.loss = l
	g.endTurn()
	g.mu.Unlock()
	if l.Kind == lease.LossExpired || l.Kind == lease.LossSuperseded || l.Kind == lease.LossPaused {
		if e != nil {
			e.close()
		}
		c := g.cfg.Resolver.formerProcesses(l.Holder, g.cfg.Clock.Boot()) // while it is closing nobody acquires by writing
		g.mu.Lock()
		g.revoke(l, c)
		g.mu.Unlock()
	}

	if e != nil {
		e.end()
		g.runDrained()
		g.runClose(l)
	}

	g.mu.Lock()
	g.closing = nil
	g.turn, g.endTurn = context.WithCancel(context.Background())
	g.mu.Unlock()
	close(over)
	if e != nil {
		e.passed()
	}
}

// passed tells those who wait for the end of an epoch that it has come.
func (e *epoch) passed() {
	e.exit.Close()
	close(e.gone)
}

// givenBack reports whether a lease ends in peace: its holder's writes are done.
func givenBack(k lease.LossKind) bool {
	return k == lease.LossReleased || k == lease.LossIdle || k == lease.LossHolderGone || k == lease.LossReplaced
}

func (g *Guard) yield(ctx context.Context) error {
	if g.open.Load() == nil {
		return nil
	}
	return g.runYield(ctx)
}

// revoke remembers a holder that lost its lease against its will.
func (g *Guard) revoke(l lease.Loss, c *process.Former) {
	switch l.Kind {
	case lease.LossExpired, lease.LossPaused:
		g.revoked.add(revocation{holder: l.Holder, why: reasonRevokedExpired, token: l.Token, former: c})
	case lease.LossSuperseded:
		g.revoked.add(revocation{holder: l.Holder, why: reasonRevokedStolen, token: l.Token, former: c})
	}
}

// Admit removes a holder from the revoked ones, because it acquired on purpose. If it has a lease
// by writing, that becomes one on purpose, with the new purpose.
func (g *Guard) Admit(h lease.Holder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revoked.admit(h)
	g.learnt = headKey{} // a lease that became one on purpose says so in its record
	if e := g.open.Load(); e != nil && turnsInto(e.holder(), h) {
		h.Auto = false
		e.who.Store(&h)
		g.members.reset() // the scope may be another
	}
}

// Idle reports whether an automatic holder has not written for the time of a lease and has no file
// open for writing. An open file is a use of the worktree: if the lease were given back, an
// editor's swap file would be refused for good.
func (g *Guard) Idle(lease.Holder) bool {
	e := g.open.Load()
	if e == nil {
		return false
	}
	quiet := g.cfg.Clock.Boot() - time.Duration(e.last.Load())
	return e.handles.Load() == 0 && quiet >= g.cfg.Policy.LeaseDuration
}

// HandleOpened counts a file that was opened for writing in an epoch, for Idle.
func (f *fence) HandleOpened(id Epoch) { f.countHandle(id, 1) }

// HandleClosed is the end of HandleOpened.
func (f *fence) HandleClosed(id Epoch) { f.countHandle(id, -1) }

func (f *fence) countHandle(id Epoch, by int64) {
	if e := f.last.Load(); e != nil && e.covers(id) {
		e.handles.Add(by)
		e.last.Store(int64(f.clock.Boot()))
	}
}
