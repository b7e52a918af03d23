package fusefs

import (
	"sync"
	"sync/atomic"
	"time"
)

// readerPool is the readers of a connection: as few as keep up. One reader that never waits
// for another is the fastest for one caller, and it is too few when callers come at
// once, when a request takes long, or when a handler waits for something that takes
// another request. So there is one more
//   - at once, when a request was there without a wait and yet another one lay behind
//     it, many times more often than not, and
//   - after a watch's tick, when requests lie there, nobody reads, and none was taken
//     since the tick before.
//
// A reader that has found another one waiting, many times in a row, is let off.
//
// A reader whose request waits for something that may take long, and that no disk does,
// says so (away): it is replaced at once and needs no thread meanwhile. So what waits
// never keeps a request from being read, however many wait.
type readerPool struct {
	reading atomic.Int32  // readers that wait for a request, or are about to
	taken   atomic.Uint64 // requests
	backlog atomic.Int32  // how much more often another request lay behind one than not
	resting atomic.Bool   // the watch sleeps: nothing goes on
	tooMany atomic.Bool   // readers have come back that were replaced
	stir    chan struct{} // wakes the watch

	waiting func() bool // whether requests lie there

	mu     sync.Mutex
	all    int // readers that were started, without those that are away
	extra  int // how many have come back that were replaced
	parked []chan struct{}
	ended  bool
	done   chan struct{}
	body   func(*reader)
	wg     sync.WaitGroup
}

// reader is what one reader knows of itself.
type reader struct {
	began   time.Duration // of its wait, as now says
	alone   bool          // when it began, no other reader waited
	surplus int           // how often in a row it found another one waiting
	word    chan struct{}
	pipe    splicer
	tid     int  // of its thread, 0 while it has none for itself
	kind    kind // of the request that it carries out
	// signalled is whether its caller got a signal while it stood in line.
	signalled bool
}

const (
	// readersMax is far above what keeps processors busy: all of what may hang in the kernel
	// (slots), and then some for the rest: a page that another request brings, a lock.
	readersMax = threadsMax + 192
	// parkedMax readers are kept for later; more of them end.
	parkedMax = 8
	// promptly is less than any wait for a request that was not there yet.
	promptly = 3 * time.Microsecond
	// backlogMax requests in excess that had another one behind them call for help.
	backlogMax = 16
	// surplusMax is how often another reader may be found waiting.
	surplusMax = 64
	// tick bounds how long requests wait for a reader that is stuck in another one.
	tick = 2 * time.Millisecond
	// restAfter ticks with no request the watch sleeps.
	restAfter = 50
)

func newReaderPool(waiting func() bool) *readerPool {
	return &readerPool{waiting: waiting, stir: make(chan struct{}, 1), done: make(chan struct{})}
}

// run starts the first reader and the watch and returns when all have ended, which
// they do when one calls over.
func (c *readerPool) run(body func(*reader)) {
	c.body = body
	c.help()
	c.wg.Go(c.watch)
	c.wg.Wait()
}

// next reports whether the reader is to wait for a request. It may first be let off
// until it is needed again.
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

// missed is a read that gave no request.
func (c *readerPool) missed(*reader) { c.reading.Add(-1) }

// took notes a request and returns when that was. waited is whether somebody waits for
// its answer; what nobody waits for may queue up a little.
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

// help brings one more reader: one that was let off, or a new one.
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

// away lets a reader's request wait, in its own goroutine, until the function that it
// returns is called: somebody else reads meanwhile.
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

// park lets a reader off until it is needed; false is the end. The last one that
// reads is never let off.
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
	quiet, stuck, before := 0, 0, c.taken.Load()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		now := c.taken.Load()
		switch {
		case now != before:
			quiet, stuck = 0, 0
		case c.reading.Load() == 0 && c.waiting():
			for range 1 << min(stuck, 4) {
				c.help()
			}
			stuck++
		case c.reading.Load() == 0:
			quiet, stuck = 0, 0 // whoever reads next may be needed at any moment: stay awake
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
