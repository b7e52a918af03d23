package fusefs

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// invalidator drops the kernel's pages of inodes. It works in a goroutine of its
// own that holds no lock: the kernel answers some requests only after the pages
// are gone, and writes dirty ones back as requests first.
type invalidator struct {
	mu   sync.Mutex
	todo map[uint64]bool // node ids that somebody should drop soon
	jobs []*invalidation
	wake chan struct{}

	delayed map[uint64]bool // to become todo when the timer fires
	timer   *time.Timer
}

// invalidation is a set of inodes that somebody waits for.
type invalidation struct {
	ids  []uint64
	done chan struct{}
}

func newInvalidator() *invalidator {
	return &invalidator{todo: make(map[uint64]bool), wake: make(chan struct{}, 1)}
}

// run works until stop is closed, then lets everybody go.
func (v *invalidator) run(notify func(id uint64), stop <-chan struct{}) {
	for {
		v.mu.Lock()
		jobs, todo := v.jobs, v.todo
		v.jobs, v.todo = nil, make(map[uint64]bool)
		v.mu.Unlock()
		for _, j := range jobs {
			for _, id := range j.ids {
				notify(id)
			}
			close(j.done)
		}
		for id := range todo {
			notify(id)
		}
		if len(jobs)+len(todo) > 0 {
			continue
		}
		select {
		case <-v.wake:
		case <-stop:
			v.abandon()
			return
		}
	}
}

// abandon lets waiters go when there is no kernel to notify any more.
func (v *invalidator) abandon() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		close(j.done)
	}
	v.jobs, v.todo = nil, nil
	if v.timer != nil {
		v.timer.Stop()
	}
}

// soon asks for an inode to be dropped and does not wait. Requests for the same
// inode fall together, so a store that is repeated for ever costs no memory.
func (v *invalidator) soon(id uint64) {
	v.mu.Lock()
	if v.todo != nil {
		v.todo[id] = true
	}
	v.mu.Unlock()
	v.poke()
}

// laterBy is longer than it takes the kernel to act upon an answer that is under way.
const laterBy = 100 * time.Millisecond

// later is soon, after what is being answered has arrived.
func (v *invalidator) later(id uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.todo == nil { // not serving any more
		return
	}
	if v.delayed == nil {
		v.delayed = make(map[uint64]bool)
		v.timer = time.AfterFunc(laterBy, v.due)
	}
	v.delayed[id] = true
}

// cancel takes back soon and later, for who will ask for it now.
func (v *invalidator) cancel(id uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.todo, id)
	delete(v.delayed, id)
}

// due moves what was delayed to what is to be done.
func (v *invalidator) due() {
	v.mu.Lock()
	for id := range v.delayed {
		if v.todo != nil {
			v.todo[id] = true
		}
	}
	v.delayed = nil
	v.mu.Unlock()
	v.poke()
}

// now drops inodes and returns when that is done, or with the error of ctx; they are
// dropped all the same then.
func (v *invalidator) now(ctx context.Context, ids []uint64) error {
	j := &invalidation{ids: ids, done: make(chan struct{})}
	v.mu.Lock()
	if v.todo == nil { // not serving any more
		v.mu.Unlock()
		return nil
	}
	v.jobs = append(v.jobs, j)
	v.mu.Unlock()
	v.poke()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (v *invalidator) poke() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// revoker returns what happens when the guard's epoch has drained: every inode
// that is open for writing under it loses its pages, so that dirty ones of
// mappings are refused now and not written under a later epoch. What the kernel
// believes of names and attributes is taken back too.
func (f *rawFS) revoker(g *gate.Guard) func(lease.Loss) {
	return func(lease.Loss) {
		_ = f.dropPages(context.Background(), func(h *handle) bool { return h.restsOn(g) }) // without an end there is no error
		f.losses.Add(1)
		f.expiry.soon()
	}
}

// flusher returns what happens before a lease is given back or handed over: what its
// holder has stored through mappings is written while that is still allowed.
func (f *rawFS) flusher(g *gate.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		return f.dropPages(ctx, func(h *handle) bool { return h.mapped && h.restsOn(g) })
	}
}

// writeBackMapped writes back what was stored through mappings of files that rest on
// some guards, or on none.
func (f *rawFS) writeBackMapped(ctx context.Context, on []*gate.Guard) error {
	return f.dropPages(ctx, func(h *handle) bool {
		return h.mapped && (len(h.claims) == 0 || slices.ContainsFunc(on, h.restsOn))
	})
}

// beforeSwitch lets land what anybody has stored through mappings while it passed.
func (f *rawFS) beforeSwitch(ctx context.Context) error {
	return f.dropPages(ctx, func(h *handle) bool { return h.mapped })
}

// afterSwitch makes the kernel's dirty pages be judged by the new mode, and takes back
// what it believes: who else may write has changed.
func (f *rawFS) afterSwitch(ctx context.Context) error {
	err := f.dropPages(ctx, func(*handle) bool { return true })
	f.losses.Add(1)
	f.expiry.soon()
	return err
}

// foreignPages returns what writes back and drops what was stored where anybody may
// write: before a name moves, so that it lands in time, and again afterwards, to take
// out of sight what is not allowed to land any more. It does nothing where no directory
// moves and the names that change are in none where anybody may write.
func (f *rawFS) foreignPages(moves bool, dirs ...*node) (drop func()) {
	if !f.border.on || f.handles.mapped.Load() == 0 || !moves && !slices.ContainsFunc(dirs, f.openToAll) {
		return func() {}
	}
	return func() {
		_ = f.dropPages(context.Background(), func(h *handle) bool { return h.mapped && h.stale() }) // without an end there is no error
	}
}

// crossed takes back what the kernel believes for long, for a name has moved from one
// directory to another: others may write from now on where nobody but the holder could.
// With a directory a whole tree may have come there.
func (f *rawFS) crossed(from, to *node, isDir bool) {
	if f.border.on && (isDir || f.openToAll(from) || f.openToAll(to)) {
		f.losses.Add(1)
		f.expiry.soon()
	}
}

// dropPages writes back and drops the pages of the inodes that are open for writing
// through handles of a kind. The error is that of ctx.
func (f *rawFS) dropPages(ctx context.Context, of func(*handle) bool) error {
	seen := make(map[uint64]bool)
	f.handles.writers(func(h *handle) {
		if of(h) {
			seen[h.node.id] = true
		}
	})
	if len(seen) == 0 {
		return nil
	}
	return f.inval.now(ctx, slices.Collect(maps.Keys(seen)))
}
