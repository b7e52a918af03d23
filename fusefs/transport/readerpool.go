package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// readerPool is the readers of a connection: as few as keep up. For one caller, one reader that
// never waits for another is the fastest. One is too few when several callers come at once, when a
// request takes long, or when a handler waits for another request. So there is one more reader
//   - at once, when a request was there without a wait and another one was behind it, many times
//     more often than not, and
//   - after a tick of the watch, when requests are waiting, nobody reads, and none was taken since
//     the last tick.
//
// A reader that finds another one waiting, many times in a row, is parked.
//
// A reader whose request waits for something that may take long, and that is not the disk, says so
// (away). It is replaced at once and needs no thread meanwhile. So waiting requests never keep a
// new one from being read, however many they are.
type readerPool struct {
	reading atomic.Int32  // readers that wait for a request, or are about to
	taken   atomic.Uint64 // requests
	backlog atomic.Int32  // how much more often another request was behind one than not
	resting atomic.Bool   // the watch sleeps: there are no requests
	tooMany atomic.Bool   // replaced readers have come back
	stir    chan struct{} // wakes the watch

	waiting func() bool // whether requests are waiting
	still   func()      // called when no request has come for stillAfter

	mu     sync.Mutex
	all    int // readers that were started, except those that are away
	extra  int // how many replaced readers have come back
	parked []chan struct{}
	ended  bool
	done   chan struct{}
	body   func(*reader)
	wg     sync.WaitGroup
}

// reader is the state of one reader.
type reader struct {
	began    time.Duration // of its wait, by now
	alone    bool          // when it began, no other reader waited
	surplus  int           // how often in a row it found another one waiting
	word     chan struct{}
	pipe     splicer
	affinity readerAffinity
	channel  *devChannel
}

const (
	// readersMax is far above what keeps processors busy: all that may hang in the kernel (limits),
	// and a reserve for the rest: a page that another request brings, a lock.
	readersMax = threadsMax + 192
	// parkedMax is how many readers are parked. Further ones end.
	parkedMax = 8
	// promptly is less than any wait for a request that was not there yet.
	promptly = 3 * time.Microsecond
	// backlogMax: if this many more requests had another one behind them than not, help comes.
	backlogMax = 16
	// surplusMax is how often in a row another reader may be found waiting.
	surplusMax = 64
	// tick bounds how long requests wait for a reader that hangs in another request.
	tick = 2 * time.Millisecond
	// stillAfter is after how many ticks without a request still is called.
	stillAfter = 5
	// restAfter is after how many ticks without a request the watch sleeps.
	restAfter = 50
)

func newReaderPool(waiting func() bool) *readerPool {
	return &readerPool{waiting: waiting, still: func() {}, stir: make(chan struct{}, 1), done: make(chan struct{})}
}

// run starts the first reader and the watch. It returns when all have ended, after over was called.
func (c *readerPool) run(body func(*reader)) {
	c.body = body
	c.help()
	c.wg.Go(c.watch)
	c.wg.Wait()
}

// next reports whether the reader shall wait for a request. It may be parked first.
func (c *readerPool) next(r *reader) bool {
	others := c.reading.Add(1) - 1
	if others == 0 {
		r.surplus = 0
	} else if r.surplus++; (r.surplus > surplusMax || c.tooMany.Load()) && !c.park(r) {
		return false
	}
	r.began, r.alone = now(), others == 0
	return true
}

// missed notes a read that gave no request.
func (c *readerPool) missed(*reader) { c.reading.Add(-1) }

// took notes a request and returns the time. waited says whether somebody waits for its answer;
// other requests may queue a little.
func (c *readerPool) took(r *reader, waited bool) (at time.Duration) {
	at = now()
	left := c.reading.Add(-1)
	c.taken.Add(1)
	if c.resting.Load() && c.resting.CompareAndSwap(true, false) {
		c.stir <- struct{}{}
	}
	if !waited {
		return at
	}
	switch b := c.backlog.Load(); {
	case at-r.began > promptly || !c.waiting():
		if b > 0 {
			c.backlog.Add(-1)
		}
	case b < backlogMax:
		c.backlog.Add(1)
	case left == 0:
		c.backlog.Store(0)
		c.help()
	}
	return at
}

// help brings one more reader: a parked one or a new one.
func (c *readerPool) help() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if n := len(c.parked); n > 0 {
		word := c.parked[n-1]
		c.parked = c.parked[:n-1]
		close(word)
		return
	}
	if c.all < readersMax {
		c.all++
		c.wg.Go(func() { c.body(&reader{}) })
	}
}

// away lets a reader's request wait, in its own goroutine, until back is called. Another reader
// takes over meanwhile.
func (c *readerPool) away() (back func()) {
	c.mu.Lock()
	c.all--
	c.mu.Unlock()
	if c.reading.Load() == 0 {
		c.help()
	}
	return func() {
		c.mu.Lock()
		c.all++
		c.extra++
		c.tooMany.Store(true)
		c.mu.Unlock()
	}
}

// park parks a reader until it is needed. false: the pool has ended. The last reader is never
// parked.
func (c *readerPool) park(r *reader) bool {
	c.mu.Lock()
	if c.extra > 0 {
		c.extra--
	}
	c.tooMany.Store(c.extra > 0)
	if c.reading.Add(-1) == 0 {
		c.reading.Add(1)
		c.mu.Unlock()
		return true
	}
	if len(c.parked) >= parkedMax {
		c.all--
		c.mu.Unlock()
		return false
	}
	r.surplus, r.word = 0, make(chan struct{})
	c.parked = append(c.parked, r.word)
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return false
	}
	select {
	case <-r.word:
	case <-c.done:
		return false
	}
	c.reading.Add(1)
	return true
}

// over ends the pool: there will be no more requests.
func (c *readerPool) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

// watch brings help when nobody reads for longer than a tick.
func (c *readerPool) watch() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	quiet, stuck, without, before := 0, 0, 0, c.taken.Load()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		now := c.taken.Load()
		if without++; now != before {
			without = 0
		} else if without == stillAfter {
			c.still()
		}
		switch {
		case now != before:
			quiet, stuck = 0, 0
		case c.reading.Load() == 0 && c.waiting():
			for range 1 << min(stuck, 4) {
				c.help()
			}
			stuck++
		case c.reading.Load() == 0:
			quiet, stuck = 0, 0 // the next reader may be needed at any moment: stay awake
		default:
			quiet, stuck = quiet+1, 0
		}
		before = now
		if quiet < restAfter {
			continue
		}
		quiet = 0
		ticker.Stop()
		c.resting.Store(true)
		if c.taken.Load() != before && c.resting.CompareAndSwap(true, false) {
			ticker.Reset(tick)
			continue
		}
		select {
		case <-c.done:
			return
		case <-c.stir:
		}
		ticker.Reset(tick)
	}
}
