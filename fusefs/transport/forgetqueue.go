package transport

import (
	"slices"
	"sync"
)

// forgetQueue works off what the kernel forgets in large batches: when it makes its caches smaller, or was asked to
// (Notifier.Prune). It sends tens of thousands of inodes at once, each costs a close, and nobody waits for that. So no reader
// does it, and no caller waits behind it. Safe for concurrent use.
//
// Few inodes are forgotten at once: whoever has removed a file finds its space free with the next call, as natively.
// Late or early makes no other difference. An inode that is looked up again meanwhile has one more reference until
// the older one is dropped, and keeps its id.
type forgetQueue struct {
	mu    sync.Mutex
	queue [][]forgetOne
	wake  chan struct{}
}

// forgetFew is how many inodes are forgotten at once: they take no longer than one other request.
const forgetFew = 32

func newForgetQueue() *forgetQueue { return &forgetQueue{wake: make(chan struct{}, 1)} }

// later takes a batch. It returns false if that is so small that it is better done at once.
func (f *forgetQueue) later(batch []forgetOne) bool {
	if len(batch) <= forgetFew {
		return false
	}
	f.mu.Lock()
	f.queue = append(f.queue, slices.Clone(batch))
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return true
}

// run forgets until stop is closed. What is left then is closed with all others (nodeTable.close).
func (f *forgetQueue) run(forget func(node, lookups uint64), stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-f.wake:
		}
		for _, batch := range f.take() {
			for _, one := range batch {
				select {
				case <-stop:
					return
				default:
				}
				forgetIt(one, forget)
			}
		}
	}
}

func (f *forgetQueue) take() [][]forgetOne {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.queue
	f.queue = nil
	return all
}

// forgetIt skips the inode that go-fuse makes up for itself.
func forgetIt(one forgetOne, forget func(node, lookups uint64)) {
	if one.node != pollHackInode {
		forget(one.node, one.lookups)
	}
}
