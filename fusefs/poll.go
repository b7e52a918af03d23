package fusefs

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller keeps a reader awake for a moment while requests come in quick succession.
// To wake a sleeping thread costs the caller more than most requests take, and costs
// processor time on both sides. A reader looks for the next request by itself for
// pollFor and only then sleeps; it stops looking as soon as that does not pay, or when
// somebody else wants its processor.
type poller struct {
	dev   int
	off   bool         // with one processor the caller could not go on meanwhile
	score atomic.Int32 // how much it has paid lately, up to scoreMax
	yield func()       // gives the processor to others, if any want it
}

const (
	// pollFor is longer than a caller takes from one answer to its next call, and short
	// against the quantum of a processor.
	pollFor  = 30 * time.Microsecond
	scoreMax = 16
	// scoreEnough waits in a row that were short begin the polling.
	scoreEnough = 4
	// yieldMax is longer than it takes to give the processor to nobody. Where others want
	// it, to sleep is better: whoever wakes goes before them, who polls goes after them.
	yieldMax    = 10 * time.Microsecond
	scoreWanted = 256
	// scoreMiss outweighs what was spent in vain: a few misses end the polling.
	scoreMiss = 4
)

func newPoller(dev int) *poller {
	return &poller{dev: dev, off: runtime.NumCPU() == 1, yield: schedYield}
}

// wait returns true when a request has come while it looked.
func (p *poller) wait() bool {
	if p.off || p.score.Load() < scoreEnough {
		return false
	}
	for now, end := time.Now(), time.Now().Add(pollFor); now.Before(end); {
		if p.ready() {
			p.learn(1)
			return true
		}
		p.yield()
		before := now
		if now = time.Now(); now.Sub(before) > yieldMax {
			p.score.Store(-scoreWanted)
			return false
		}
	}
	p.learn(-scoreMiss)
	return false
}

// ready is poll(2) past the Go scheduler, which need not know of a call that does not
// sleep.
func (p *poller) ready() bool {
	fds := [1]unix.PollFd{{Fd: int32(p.dev), Events: unix.POLLIN}}
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&noTime)), 0, 0, 0)
	return n != 0
}

func schedYield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// noTime is how long ppoll sleeps. The kernel may write to it.
var noTime unix.Timespec

// slept notes a wait without polling. A request that was there already tells nothing.
func (p *poller) slept(d time.Duration) {
	switch {
	case d > pollFor:
		p.learn(-1)
	case d > promptly:
		p.learn(1)
	}
}

// learn need not count exactly when readers meet.
func (p *poller) learn(by int32) {
	now := p.score.Load()
	if by < 0 && now <= 0 {
		return
	}
	p.score.Store(min(now+by, scoreMax))
}
