package leases

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// ErrClosing refuses requests while the daemon ends.
var ErrClosing = errors.New("the mount is being taken down")

// Closing words ErrClosing for a client.
func Closing(err error) error {
	if !errors.Is(err, ErrClosing) {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Message: ErrClosing.Error(), Next: "if it comes back (jvsfs status shows it), try again"}
}

// Registry has the worktrees of a mount. It makes each at its first use, and owns the goroutines of their
// keepers. Safe for concurrent use.
type Registry struct {
	make func(lease.WorktreeID) (*Worktree, error)
	log  *zap.Logger

	ctx    context.Context
	cancel context.CancelFunc
	run    sync.WaitGroup

	agents     context.Context // of the fence agents
	stopAgents context.CancelFunc

	taking sync.RWMutex // see Take
	making sync.Mutex   // held while a worktree is made, which waits for the disk; before mu
	mu     sync.RWMutex // never held while waiting: readers and status take it
	byID   map[lease.WorktreeID]*Worktree
	closed bool
	shut   bool // new worktrees have their latches shut, too
}

// New is a registry that makes a worktree by mk, which calls Worktree.Keep.
func New(log *zap.Logger, mk func(lease.WorktreeID) (*Worktree, error)) *Registry {
	r := &Registry{make: mk, log: log, byID: map[lease.WorktreeID]*Worktree{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.agents, r.stopAgents = context.WithCancel(context.Background())
	return r
}

// Get finds the worktree, or makes it and starts its keeper.
func (r *Registry) Get(id lease.WorktreeID) (*Worktree, error) {
	if w := r.find(id); w != nil {
		return w, nil
	}
	r.making.Lock()
	defer r.making.Unlock()
	if w := r.find(id); w != nil {
		return w, nil
	}
	if r.Ended() {
		return nil, ErrClosing
	}
	w, err := r.make(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosing
	}
	if r.shut {
		w.latch.set(true)
	}
	r.byID[id] = w
	r.run.Go(func() {
		if err := w.Keeper.Run(r.ctx); err != nil {
			r.log.Error("keeper ended", zap.String("worktree", string(id)), zap.Error(err))
		}
	})
	return w, nil
}

func (r *Registry) find(id lease.WorktreeID) *Worktree {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// Known reports whether the worktree has been seen, without making it.
func (r *Registry) Known(id lease.WorktreeID) bool { return r.find(id) != nil }

// Guard is Get for the file system.
func (r *Registry) Guard(id lease.WorktreeID) (*gate.Guard, error) {
	w, err := r.Get(id)
	if err != nil {
		return nil, err
	}
	return w.Guard, nil
}

// All lists the worktrees seen so far.
func (r *Registry) All() []*Worktree {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Worktree, 0, len(r.byID))
	for _, w := range r.byID {
		out = append(out, w)
	}
	return out
}

// Guards lists the guards of all worktrees seen so far.
func (r *Registry) Guards() []*gate.Guard {
	var all []*gate.Guard
	for _, w := range r.All() {
		all = append(all, w.Guard)
	}
	return all
}

// Ended reports whether Close has begun.
func (r *Registry) Ended() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.closed
}

// ShutLatches lets nobody acquire until the latches are opened again.
func (r *Registry) ShutLatches(shut bool) {
	r.mu.Lock()
	r.shut = shut
	r.mu.Unlock()
	for _, w := range r.All() {
		w.latch.set(shut)
	}
}

// HeldOnPurpose names a lease that somebody has acquired. What writing took goes with the mount.
func (r *Registry) HeldOnPurpose() string {
	for _, w := range r.All() {
		if grant, held := w.Keeper.Held(); held && !grant.Holder.Auto {
			return fmt.Sprintf("%s holds worktree %s", grant.Holder.ID(), w.ID)
		}
	}
	return ""
}

// Take lets somebody ask for a lease, and wait for it, until done.
func (r *Registry) Take() (done func()) {
	r.taking.RLock()
	return r.taking.RUnlock
}

// ShutOut lets nobody take a lease until letIn. It is false if somebody takes one, and may wait for it.
func (r *Registry) ShutOut() (letIn func(), ok bool) {
	if !r.taking.TryLock() {
		return nil, false
	}
	return r.taking.Unlock, true
}

// Start runs f in a goroutine of the registry. Once it closes, f finds that its context has ended.
func (r *Registry) Start(f func(context.Context)) {
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
func (r *Registry) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.stopAgents() // who waits for one has a latch open; Start finds the context ended, or the registry open
	r.closed = true
	r.mu.Unlock()
	for _, w := range r.All() {
		w.latch.shut()
	}
	r.cancel()
	r.run.Wait()
	if !first {
		return nil
	}
	var errs []error
	for _, w := range r.All() {
		errs = append(errs, w.Keeper.Close())
	}
	return errors.Join(errs...)
}
