package fusefs

import (
	"sync"
	"sync/atomic"
	"time"
)

// expiry remembers which names the kernel may believe for long, and takes that back
// when a lease ends: from then on others may write.
//
// It is not waited for. A name that is taken back a moment after the lease has ended
// is as old as any name that is cached for CacheTimeout.
type expiry struct {
	count   atomic.Int64 // nodes with a promise
	mu      sync.Mutex
	absence map[absence]struct{}
	wake    chan struct{}
}

// place of a name that the kernel believes for long.
type promise struct {
	dir  *node
	name string
}

type absence struct {
	dir  uint64
	name string
}

// What is believed for long is bounded, and so is what it takes to take it back.
const (
	promisesMax = 100_000
	absencesMax = 32_768
)

func newExpiry() *expiry {
	return &expiry{absence: make(map[absence]struct{}), wake: make(chan struct{}, 1)}
}

// promise notes that the kernel may believe for long that n is dir/name. It returns
// false where that cannot be taken back later: one name of an inode is remembered.
func (x *expiry) promise(n, dir *node, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at := n.where; at.dir != nil {
		if at.dir != dir || at.name != name {
			if !n.isDir() {
				return false
			}
			n.where = promise{dir, name}
		}
		return true
	}
	if dir == nil || name == "" || x.count.Load() >= promisesMax {
		return false
	}
	x.count.Add(1)
	n.where = promise{dir, name}
	return true
}

// promised reports whether the kernel may believe the node's name for long.
func (n *node) promised() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.where.dir != nil
}

// renamed follows a name through a rename: the kernel's entry keeps its time.
func (n *node) renamed(dir *node, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.where.dir != nil {
		n.where = promise{dir, name}
	}
}

// release forgets the promise of a node, and returns what it was.
func (x *expiry) release(n *node) promise {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.where
	if was.dir != nil {
		n.where = promise{}
		x.count.Add(-1)
	}
	return was
}

// promiseAbsence notes that the kernel may believe for long that there is no such name.
func (x *expiry) promiseAbsence(dir *node, name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.absence) >= absencesMax {
		return false
	}
	x.absence[absence{dir.id, name}] = struct{}{}
	return true
}

// soon asks for the promises to be looked through.
func (x *expiry) soon() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// run takes back what is not certain any more, each time that it is asked to. A
// second pass, one CacheTimeout later, is for answers that were under way to the
// kernel during the first one.
func (x *expiry) run(f *rawFS, stop <-chan struct{}) {
	var again []absence
	var second <-chan time.Time
	for {
		select {
		case <-stop:
			return
		case <-x.wake:
			again = append(again, x.takeBack(f)...)
			second = time.After(max(f.opts.CacheTimeout, time.Second))
		case <-second:
			for _, a := range again {
				f.kernel.expire(a.dir, a.name)
			}
			again, second = nil, nil
		}
	}
}

// takeBack expires the names that the kernel believes for long and must not any
// more, and returns them.
func (x *expiry) takeBack(f *rawFS) (gone []absence) {
	f.nodes.all(func(n *node) bool {
		n.mu.Lock()
		dir := n.where.dir
		n.mu.Unlock()
		if dir == nil || f.certain(dir) > f.opts.CacheTimeout {
			return true
		}
		if was := x.release(n); was.dir != nil {
			f.kernel.dropAttr(n.id)
			f.kernel.expire(was.dir.id, was.name)
			gone = append(gone, absence{was.dir.id, was.name})
		}
		return true
	})
	x.mu.Lock()
	names := x.absence
	x.absence = make(map[absence]struct{})
	x.mu.Unlock()
	for a := range names {
		f.kernel.expire(a.dir, a.name)
		gone = append(gone, a)
	}
	return gone
}
