package fusefs

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// invalidator drops the kernel's pages of inodes. Its goroutine holds no lock: the kernel answers
// some requests only after the pages are gone, and it first writes dirty pages back as requests.
type invalidator struct {
	mu   sync.Mutex
	todo map[uint64]bool // node ids to drop soon
	jobs []*invalidation
	wake chan struct{}

	delayed map[uint64]bool // moved to todo when the timer fires
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

// run works until stop is closed. Then it lets all waiters go.
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

// soon drops an inode without waiting. Several requests for one inode become one, so a store that
// repeats for ever costs no memory.
func (v *invalidator) soon(id uint64) {
	v.mu.Lock()
	if v.todo != nil {
		v.todo[id] = true
	}
	v.mu.Unlock()
	v.poke()
}

// laterBy is longer than the kernel needs for an answer that is on its way.
const laterBy = 100 * time.Millisecond

// later is soon, but after the current answer has arrived.
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

// cancel takes back soon and later, because the caller drops the inode itself now.
func (v *invalidator) cancel(id uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.todo, id)
	delete(v.delayed, id)
}

// due moves delayed inodes to todo.
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

// now drops inodes and returns when that is done, or with the error of ctx. In that case they are
// still dropped.
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

// revoker returns the hook that runs when the guard's epoch has drained. Every inode that is open
// for writing under it loses its pages. So dirty pages of mappings are refused now and not written
// under a later epoch. Long timeouts of names and attributes are taken back, too.
func (f *rawFS) revoker(g *gate.Guard) func(lease.Loss) {
	return func(lease.Loss) {
		_ = f.dropPages(context.Background(), func(h *handle) bool { return h.restsOn(g) }) // without a deadline there is no error
		f.losses.Add(1)
		f.expiry.soon()
	}
}

// flusher returns the hook that runs before a lease is given back or handed over, and around the
// window of a snapshot. What its holder has stored through mappings is written while that is still
// allowed. What others have stored is refused, and their pages go, wherever they opened the file.
func (f *rawFS) flusher(g *gate.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		return f.dropPages(ctx, func(h *handle) bool { return f.mayStore(h, g) })
	}
}

// mayStore reports whether a store through a mapping of a handle may be seen in the worktree of a guard: because the
// handle was opened under it, or because its file lies there now.
func (f *rawFS) mayStore(h *handle, g *gate.Guard) bool {
	if !h.mapped || h.restsOn(g) {
		return h.mapped
	}
	var buf [4]*layout.Rule
	return slices.ContainsFunc(h.node.rules(buf[:0]), func(r *layout.Rule) bool {
		known, ok := f.guards.Load(r.Worktree)
		return r.Kind == layout.Guarded && ok && known == g
	})
}

// writeBackMapped writes back what was stored through mappings of files that belong to some guards,
// or to none.
func (f *rawFS) writeBackMapped(ctx context.Context, on []*gate.Guard) error {
	return f.dropPages(ctx, func(h *handle) bool {
		return h.mapped && (len(h.claims) == 0 || slices.ContainsFunc(on, h.restsOn))
	})
}

// beforeSwitch writes back what was stored through mappings while that is still allowed.
func (f *rawFS) beforeSwitch(ctx context.Context) error {
	return f.dropPages(ctx, func(h *handle) bool { return h.mapped })
}

// afterSwitch has the kernel's dirty pages judged by the new mode. It takes long timeouts back,
// because others may write now.
func (f *rawFS) afterSwitch(ctx context.Context) error {
	err := f.dropPages(ctx, func(*handle) bool { return true })
	f.losses.Add(1)
	f.expiry.soon()
	f.git.LookAgain()
	return err
}

// foreignPages writes back and drops pages that were stored in exempt places. It is called before a
// name moves, so that they land in time. drop is called afterwards and removes what may not land
// any more. It does nothing if no directory moves and the changing names are not in an exempt
// place.
func (f *rawFS) foreignPages(moves bool, dirs ...*node) (drop func()) {
	if !f.moveLock.On || f.handles.mapped.Load() == 0 || !moves && !slices.ContainsFunc(dirs, f.openToAll) {
		return func() {}
	}
	return func() {
		_ = f.dropPages(context.Background(), func(h *handle) bool { return h.mapped && h.stale() }) // without a deadline there is no error
	}
}

// crossed takes long timeouts back because a name has moved from one directory to another. Now
// others may write where only the holder could. A directory may have brought a whole tree.
func (f *rawFS) crossed(from, to *node, isDir bool) {
	if f.moveLock.On && (isDir || f.openToAll(from) || f.openToAll(to)) {
		f.losses.Add(1)
		f.expiry.soon()
	}
}

// dropPages writes back and drops the pages of the inodes that matching handles have open for
// writing. The error is that of ctx.
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
