package leases

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Worktree is one guarded worktree of the daemon: its guard and the keeper of its lease.
type Worktree struct {
	ID     lease.WorktreeID
	Guard  *gate.Guard
	Keeper *lease.Keeper
	Counts *metrics.LeaseCounts
	Exec   ExecLeases

	losses *broadcast
	latch  *latch
	cache  statusCache
	shared atomic.Uint64 // the last token that was granted to more than one request
}

// NewWorktree is a worktree whose keeper is to be made: see Keep.
func NewWorktree(id lease.WorktreeID, guard *gate.Guard) *Worktree {
	return &Worktree{ID: id, Guard: guard, Counts: &metrics.LeaseCounts{}, losses: newBroadcast(), latch: &latch{}}
}

// Keep has k keep the lease, and the guard ask it.
func (w *Worktree) Keep(k *lease.Keeper) *Worktree {
	w.Keeper, w.latch.keeper = k, k
	w.Guard.Bind(w.latch)
	return w
}

// Announcing is f, and tells every loss after f has closed to those who listen (Losses).
func (w *Worktree) Announcing(f lease.Fence) lease.Fence { return announcingFence{f, w.losses} }

// Losses returns a channel of losses and a function that ends it. A listener whose buffer is full misses further losses.
func (w *Worktree) Losses() (losses <-chan lease.Loss, done func()) { return w.losses.subscribe() }

// Through runs f unless nobody may acquire any more, and has the keeper wait for its end before it closes.
func (w *Worktree) Through(f func() (lease.Grant, error)) (lease.Grant, error) {
	return w.latch.through(f)
}

// MayResume reports whether a holder may go on here after a pause: the daemon neither ends nor is replaced.
func (w *Worktree) MayResume() bool { return !w.latch.closed.Load() }

// Share notes that more than one request was told of a lease.
func (w *Worktree) Share(t lease.Token) { w.shared.Store(uint64(t)) }

// Shared reports whether the lease with that token was shared.
func (w *Worktree) Shared(t lease.Token) bool { return w.shared.Load() == uint64(t) }

// AboutHead adds the current record to a failure.
func (w *Worktree) AboutHead(f *api.Failure) *api.Failure {
	head, j := w.Keeper.Observe()
	f.File = head.File
	if j.State != lease.Free {
		f.Holder = api.ViewOfRecord(head.Record)
	}
	return f
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
		return lease.Grant{}, ErrClosing
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

// ExecLeases are the leases that jvsfs exec keeps for its command, by the connections on which it
// waits for their loss. Safe for concurrent use.
type ExecLeases struct {
	mu sync.Mutex
	by map[lease.Token]int // by the first token of their holder: it may go on under later ones
}

// Begin counts a connection until the function is called.
func (k *ExecLeases) Begin(t lease.Token) (end func()) {
	k.count(t, 1)
	return func() { k.count(t, -1) }
}

func (k *ExecLeases) count(t lease.Token, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[lease.Token]int{}
	}
	if k.by[t] += by; k.by[t] == 0 {
		delete(k.by, t)
	}
}

// Has reports whether exec keeps the lease with that token for its command.
func (k *ExecLeases) Has(t lease.Token) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[t] > 0
}
