package transport

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// ringChannel carries requests over io_uring (Linux 6.14). Each processor has a queue, and the kernel gives a
// request to an entry of the queue of its caller's processor: to the one that was free last. So the caller and
// the thread that answers it take turns on one processor, and nobody is woken on another.
//
// FORGETs and INTERRUPTs still come from /dev/fuse, and notifications go there.
//
// A queue must never be without a free entry for long, because nobody can see what waits in the kernel. So there
// is one more hand
//   - at once, when the last free one got a request and there are few, or when a request says that it waits, and
//   - after a tick of the watch, when none was free and none got a request since the last tick.
//
// What came meanwhile waits until any request of its queue is answered. The watch sends one of our own (poke),
// until nothing else comes with it.
type ringChannel struct {
	dev     int    // of /dev/fuse
	device  uint64 // of the mount
	rest    *devChannel
	log     *zap.Logger
	meter   *Meter
	threads *threadCalls
	abort   func() error
	do      func(*call)
	tell    func(unique uint64) // of a signal that the caller of a request has got

	signalled func(thread uint32) bool // see Config

	queues  []*ringQueue
	all     atomic.Int32 // hands
	bytes   atomic.Int64 // of their memory, used or not
	locks   atomic.Int32 // requests that wait for locks
	resting atomic.Bool  // the watch sleeps
	stir    chan struct{}
	full    sync.Once // it was logged that there are too many hands
	failed  sync.Once

	on string // the processors that were on at the watch's last look

	mu    sync.Mutex
	first []*ringHand // before serve
	hands []*ringHand
	ended bool
	done  chan struct{}
	wg    sync.WaitGroup
}

// ringQueue is the queue of one processor.
type ringQueue struct {
	id    int
	hands atomic.Int32
	idle  atomic.Int32  // hands that wait for a request, or are about to
	taken atomic.Uint64 // requests
	pokes atomic.Int32  // that are under way
	// dry says that requests may wait in the kernel: no hand was free for a moment.
	dry atomic.Bool

	// Of the watch: requests at its last look, whether it has poked, and how often nobody was free.
	seen  uint64
	poked bool
	stuck int
}

const (
	// handsFew is how many hands a processor gets without a wait for the watch.
	handsFew = 4
	// pokesMax is how many pokes of a queue the watch has under way: one waits while the mount is being taken away.
	pokesMax = 8
	// ringLocksMax is how many requests wait for locks at a time.
	ringLocksMax = 1024
	// ringQueuedMax is queuedMax for a ring.
	ringQueuedMax = 1024
	// ringHandsMax is more than all that may wait (Config.Waiting, ringQueuedMax, ringLocksMax) and what may hang
	// (readersMax). Go allows 10000 threads.
	ringHandsMax = 4096
	// ringPinnedMost is the memory of the kernel that the rings of a mount take at most.
	ringPinnedMost = ringHandsMax * ringPinned
)

// newRingChannel makes a ring for each processor. Nothing is registered with the kernel yet.
func newRingChannel(dev int, queues int, threads *threadCalls, cpuOf func(thread uint32) int, m *Meter, log *zap.Logger) (*ringChannel, error) {
	r := &ringChannel{
		dev: dev, log: log, meter: m, threads: threads, rest: newDevChannel(dev, threads, cpuOf, m, log),
		stir: make(chan struct{}, 1), done: make(chan struct{}),
	}
	r.rest.poll.off = true // no caller waits for a FORGET
	for id := range queues {
		q := &ringQueue{id: id}
		h, err := newRingHand(r, q)
		if err != nil {
			r.close()
			return nil, err
		}
		r.queues, r.first = append(r.queues, q), append(r.first, h)
	}
	return r, nil
}

// close frees everything. No hand may be left.
func (r *ringChannel) close() {
	for _, h := range append(r.first, r.hands...) {
		h.close()
	}
	r.first, r.hands = nil, nil
}

func (r *ringChannel) serve(do func(*call), ended func()) {
	r.do = do
	r.wg.Go(func() { <-r.done; ended() })
	r.mu.Lock()
	first := r.first
	r.first = nil
	for _, h := range first {
		r.start(h)
	}
	r.mu.Unlock()
	r.wg.Go(r.watch)
	r.rest.serve(do, r.end)
	r.wg.Wait()
	r.close()
}

// start lets a hand take requests. r.mu is locked.
func (r *ringChannel) start(h *ringHand) {
	r.hands = append(r.hands, h)
	r.all.Add(1)
	h.queue.hands.Add(1)
	r.wg.Go(h.run)
}

// help gives a queue one more hand. If there is no memory for it just now, the watch tries again.
func (r *ringChannel) help(q *ringQueue) {
	if r.all.Load() >= ringHandsMax {
		r.full.Do(func() {
			r.log.Error("io_uring: too many requests wait, and no more can be taken", zap.Int("threads", ringHandsMax))
		})
		return
	}
	h, err := newRingHand(r, q)
	if err != nil {
		r.log.Warn("io_uring: one more thread for requests", zap.Error(err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		h.close()
		return
	}
	h.later = true
	r.start(h)
}

// took notes that a hand got a request, and returns the time. short says that its answer does not take long.
func (r *ringChannel) took(q *ringQueue, short bool) time.Duration {
	at := now()
	q.taken.Add(1)
	if q.idle.Add(-1) <= 0 && !short {
		q.dry.Store(true)
		if q.hands.Load() < handsFew {
			r.help(q)
		}
	}
	if r.resting.Load() && r.resting.CompareAndSwap(true, false) {
		r.stir <- struct{}{}
	}
	return at
}

// end notes that the connection has ended.
func (r *ringChannel) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.ended = true
		close(r.done)
	}
}

// fail ends the connection: a hand has failed, and somebody may wait for what it had. The kernel answers
// everybody, now and later.
func (r *ringChannel) fail(err error) {
	r.failed.Do(func() {
		r.log.Error("io_uring failed, so the mount is aborted", zap.Error(errors.Join(err, r.abort())))
	})
}

// watch sees that each queue has a hand that is free, or soon will be.
func (r *ringChannel) watch() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for quiet, ticks := 0, 0; ; ticks++ {
		select {
		case <-r.done:
			return
		case <-ticker.C:
		}
		if ticks%plugEvery == 0 {
			r.lookForProcessors()
		}
		quiet++
		for _, q := range r.queues {
			if r.look(q) {
				quiet = 0
			}
		}
		if quiet < restAfter {
			continue
		}
		quiet = 0
		ticker.Stop()
		r.resting.Store(true)
		if r.changed() && r.resting.CompareAndSwap(true, false) {
			ticker.Reset(tick)
			continue
		}
		select {
		case <-r.done:
			return
		case <-r.stir:
		}
		ticker.Reset(tick)
		ticks = plugEvery - 1 // who knows how long that was
	}
}

// look looks after one queue. It returns false if nothing happens there.
func (r *ringChannel) look(q *ringQueue) bool {
	taken := q.taken.Load()
	came := taken - q.seen
	q.seen = taken
	poked := q.poked
	q.poked = false
	switch idle := q.idle.Load(); {
	case came > 1 || came == 1 && !poked: // each answer brings what waits
		q.stuck = 0
		return true
	case idle <= 0:
		for range 1 << min(q.stuck, 4) {
			r.help(q)
		}
		q.stuck++
		return true
	case came == 1: // only our own
		q.dry.Store(false)
		return true
	case q.dry.Load():
		if q.pokes.Load() < pokesMax {
			q.poked = true
			r.poke(q)
		}
		return true
	}
	q.stuck = 0
	return false
}

// changed reports whether a request has come since the last look.
func (r *ringChannel) changed() bool {
	for _, q := range r.queues {
		if q.taken.Load() != q.seen {
			return true
		}
	}
	return false
}
