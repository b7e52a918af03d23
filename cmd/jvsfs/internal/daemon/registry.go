package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// errClosing refuses requests while the daemon ends.
var errClosing = errors.New("the mount is being taken down")

// worktree is one guarded worktree of the daemon: its fence and the keeper of its
// lease.
type worktree struct {
	id         lease.WorktreeID
	guard      *gate.Guard
	keeper     *lease.Keeper
	events     *broadcast
	latch      *latch
	execLeases execLeases
	counts     *metrics.LeaseCounts
	cache      statusCache
	shared     atomic.Uint64 // the last token that was granted to more than one request
}

// registry has the worktrees of a mount. It makes each at its first use, and owns the goroutines of their
// keepers. Safe for concurrent use.
type registry struct {
	make    func(lease.WorktreeID) (*worktree, error)
	refused func(*gate.Refusal) // called for refusals without a guard; may be nil
	log     *zap.Logger

	ctx    context.Context
	cancel context.CancelFunc
	run    sync.WaitGroup

	agents     context.Context // of the fence agents
	stopAgents context.CancelFunc

	taking sync.RWMutex // see take
	making sync.Mutex   // held while a worktree is made, which waits for the disk; before mu
	mu     sync.RWMutex // never held while waiting: readers and status take it
	byID   map[lease.WorktreeID]*worktree
	closed bool
	shut   bool // new worktrees have their latches shut, too
}

func newRegistry(log *zap.Logger, mk func(lease.WorktreeID) (*worktree, error)) *registry {
	r := &registry{make: mk, log: log, byID: map[lease.WorktreeID]*worktree{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.agents, r.stopAgents = context.WithCancel(context.Background())
	return r
}

// get finds the worktree, or makes it and starts its keeper.
func (r *registry) get(id lease.WorktreeID) (*worktree, error) {
	if w := r.find(id); w != nil {
		return w, nil
	}
	r.making.Lock()
	defer r.making.Unlock()
	if w := r.find(id); w != nil {
		return w, nil
	}
	if r.Ended() {
		return nil, errClosing
	}
	w, err := r.make(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosing
	}
	if r.shut {
		w.latch.set(true)
	}
	r.byID[id] = w
	r.run.Go(func() {
		if err := w.keeper.Run(r.ctx); err != nil {
			r.log.Error("keeper ended", zap.String("worktree", string(id)), zap.Error(err))
		}
	})
	return w, nil
}

func (r *registry) find(id lease.WorktreeID) *worktree {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// known reports whether the worktree has been seen, without making it.
func (r *registry) known(id lease.WorktreeID) bool { return r.find(id) != nil }

// guard is get for the file system.
func (r *registry) guard(id lease.WorktreeID) (*gate.Guard, error) {
	w, err := r.get(id)
	if err != nil {
		return nil, err
	}
	return w.guard, nil
}

// all lists the worktrees seen so far.
func (r *registry) all() []*worktree {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*worktree, 0, len(r.byID))
	for _, w := range r.byID {
		out = append(out, w)
	}
	return out
}

// guards lists the guards of all worktrees seen so far.
func (r *registry) guards() []*gate.Guard {
	var all []*gate.Guard
	for _, w := range r.all() {
		all = append(all, w.guard)
	}
	return all
}

// Ended reports whether Close has begun.
func (r *registry) Ended() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.closed
}

// shutLatches lets nobody acquire until the latches are opened again.
func (r *registry) shutLatches(shut bool) {
	r.mu.Lock()
	r.shut = shut
	r.mu.Unlock()
	for _, w := range r.all() {
		w.latch.set(shut)
	}
}

// heldOnPurpose names a lease that somebody has acquired. What writing took goes with the mount.
func (r *registry) heldOnPurpose() string {
	for _, w := range r.all() {
		if grant, held := w.keeper.Held(); held && !grant.Holder.Auto {
			return fmt.Sprintf("%s holds worktree %s", grant.Holder.ID(), w.id)
		}
	}
	return ""
}

// take lets somebody ask for a lease, and wait for it, until done.
func (r *registry) take() (done func()) {
	r.taking.RLock()
	return r.taking.RUnlock
}

// shutOut lets nobody take a lease until letIn. It is false if somebody takes one, and may wait for it.
func (r *registry) shutOut() (letIn func(), ok bool) {
	if !r.taking.TryLock() {
		return nil, false
	}
	return r.taking.Unlock, true
}

// start runs f in a goroutine of the registry. Once it closes, f finds that its context has ended.
func (r *registry) start(f func(context.Context)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		f(r.agents) // it begins nothing
		return
	}
	r.run.Go(func() { f(r.agents) })
}

// Close shuts the latches, closes every gate, drains, releases, and waits for the keepers. It may be called
// again.
func (r *registry) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.stopAgents() // who waits for one has a latch open; start finds the context ended, or the registry open
	r.closed = true
	r.mu.Unlock()
	for _, w := range r.all() {
		w.latch.shut()
	}
	r.cancel()
	r.run.Wait()
	if !first {
		return nil
	}
	var errs []error
	for _, w := range r.all() {
		errs = append(errs, w.keeper.Close())
	}
	return errors.Join(errs...)
}

// latch is the admission latch before the keeper. Once it is shut nobody acquires, so that the release at the
// end is final. Without it a late writer would take a lease that nobody renews.
type latch struct {
	keeper *lease.Keeper
	mu     sync.RWMutex
	closed atomic.Bool // set under mu; the keeper looks without it
}

func (d *latch) shut() { d.set(true) }

func (d *latch) set(closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed.Store(closed)
}

// through runs f unless the latch is shut, and keeps it open meanwhile.
func (d *latch) through(f func() (lease.Grant, error)) (lease.Grant, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed.Load() {
		return lease.Grant{}, errClosing
	}
	return f()
}

// Acquire passes through unless the latch is shut.
func (d *latch) Acquire(ctx context.Context, h lease.Holder) (lease.Grant, error) {
	return d.through(func() (lease.Grant, error) { return d.keeper.Acquire(ctx, h) })
}

// Observe passes through; it changes nothing.
func (d *latch) Observe() (lease.Head, lease.Judgement) { return d.keeper.Observe() }

// Past passes through; it changes nothing.
func (d *latch) Past(from, head lease.Token) ([]lease.Past, error) { return d.keeper.Past(from, head) }

// Look passes through; the keeper does what it would do by itself.
func (d *latch) Look() { d.keeper.Look() }

// Late passes through: it has happened, whatever the latch.
func (d *latch) Late(w lease.LateWrite) error { return d.keeper.Late(w) }

// broadcast reports losses to all listeners.
type broadcast struct {
	mu   sync.Mutex
	subs map[chan lease.Loss]bool
}

func newBroadcast() *broadcast { return &broadcast{subs: map[chan lease.Loss]bool{}} }

// subscribe returns a channel of losses and a function that ends it. A listener whose buffer is full misses
// further losses.
func (b *broadcast) subscribe() (<-chan lease.Loss, func()) {
	c := make(chan lease.Loss, 8)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, c)
	}
}

func (b *broadcast) tell(l lease.Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.subs {
		select {
		case c <- l:
		default:
		}
	}
}

// announcingFence is a fence that reports every loss after it has closed.
type announcingFence struct {
	lease.Fence
	events *broadcast
}

// Close closes the inner fence, then reports the loss.
func (f announcingFence) Close(l lease.Loss) {
	f.Fence.Close(l)
	f.events.tell(l)
}
