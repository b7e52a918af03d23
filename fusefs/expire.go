package fusefs

import (
	"sync"
	"sync/atomic"
	"time"
)

// expiry remembers which names the kernel may cache for long. It takes these long timeouts back
// when a lease ends: from then on others may write.
//
// Nobody waits for that. A name that is taken back a moment after the lease has ended is as old as
// any name that is cached for CacheTimeout.
type expiry struct {
	count    atomic.Int64 // nodes with a long timeout
	mu       sync.Mutex
	negative map[entry]struct{}
	wake     chan struct{}
}

// longEntry is a name of a node that the kernel caches for long, with the number of leases that had
// ended when it was made.
type longEntry struct {
	dir    *node
	name   string
	losses uint64
}

// entry is a name in a directory as the kernel knows it. node is 0 for a negative dentry.
type entry struct {
	dir  uint64
	name string
	node uint64
}

// The number of long timeouts is bounded, and so is the work to take them back.
const (
	longTimeoutsMax = 100_000
	negativesMax    = 32_768
)

func newExpiry() *expiry {
	return &expiry{negative: make(map[entry]struct{}), wake: make(chan struct{}, 1)}
}

// keepLong notes that the kernel may cache n as p.dir/p.name for long. It returns false if that
// could not be taken back later: only one name of an inode is remembered.
func (x *expiry) keepLong(n *node, p longEntry) bool {
	if p.name == "" {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch at := n.where; {
	case at.dir == nil && x.count.Load() >= longTimeoutsMax:
		return false
	case at.dir == nil:
		x.count.Add(1)
	case !n.IsDir() && (at.dir != p.dir || at.name != p.name):
		return false
	}
	n.where = p
	return true
}

// longTimeout returns the name of a node that the kernel caches for long, if there is one.
func (n *node) longTimeout() longEntry {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.where
}

// renamed follows a name through a rename: the kernel's entry keeps its timeout.
func (n *node) renamed(wasIn *node, wasCalled string, dir *node, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.where.dir == wasIn && n.where.name == wasCalled {
		n.where.dir, n.where.name = dir, name
	}
}

// release forgets the long timeout of a node and returns it.
func (x *expiry) release(n *node) longEntry {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.where
	if was.dir != nil {
		n.where = longEntry{}
		x.count.Add(-1)
	}
	return was
}

// keepNegative notes that the kernel may cache for long that there is no such name.
func (x *expiry) keepNegative(dir *node, name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.negative) >= negativesMax {
		return false
	}
	x.negative[entry{dir: dir.id, name: name}] = struct{}{}
	return true
}

// soon asks run to take long timeouts back.
func (x *expiry) soon() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// run takes long timeouts back each time a lease has ended. A second pass, one CacheTimeout later,
// is for answers that were on their way to the kernel during the first.
func (x *expiry) run(f *rawFS, stop <-chan struct{}) {
	var again []entry
	var second <-chan time.Time
	for {
		select {
		case <-stop:
			return
		case <-x.wake:
			gone := x.takeBack(f)
			f.expire(gone)
			if again = append(again, gone...); second == nil {
				second = time.After(max(f.opts.CacheTimeout, time.Second))
			}
		case <-second:
			f.expire(append(again, x.takeBack(f)...))
			again, second = nil, nil
		}
	}
}

// takeBack forgets the long timeouts that were given under leases that have ended, and returns
// their names. It drops the listings that the kernel keeps.
func (x *expiry) takeBack(f *rawFS) (gone []entry) {
	if f.opts.Cache == CacheExclusive {
		return nil
	}
	now := f.losses.Load()
	f.nodes.all(func(n *node) bool {
		if n.listed.Load() != 0 && n.listed.Swap(0) != 0 {
			f.kernel.DropPages(n.id)
		}
		if at := n.longTimeout(); at.dir == nil || at.losses == now {
			return true
		}
		if was := x.release(n); was.dir != nil {
			gone = append(gone, entry{was.dir.id, was.name, n.id})
		}
		return true
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	for a := range x.negative {
		gone = append(gone, a)
	}
	clear(x.negative)
	return gone
}

// expirers is how many directories a slow call may have locked before the others have to wait.
const expirers = 8

// expire makes the kernel ask again. First for attributes, which takes no lock, and then for names,
// which waits for the lock of each directory.
func (f *rawFS) expire(names []entry) {
	for _, e := range names {
		if e.node != 0 {
			f.kernel.DropAttr(e.node)
		}
	}
	byDirectory(names, func(e entry) { f.kernel.Expire(e.dir, e.name) })
}

// byDirectory calls do for each name, one after the other within a directory. So a lock that cannot
// be had blocks one of the expirers, not all.
func byDirectory(names []entry, do func(entry)) {
	in := make(map[uint64][]entry)
	for _, e := range names {
		in[e.dir] = append(in[e.dir], e)
	}
	todo := make(chan []entry)
	var wg sync.WaitGroup
	for range min(expirers, len(in)) {
		wg.Go(func() {
			for list := range todo {
				for _, e := range list {
					do(e)
				}
			}
		})
	}
	for _, list := range in {
		todo <- list
	}
	close(todo)
	wg.Wait()
}
