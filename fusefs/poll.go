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
	pollFor = 50 * time.Microsecond
	// soon is how short a sleep has to be for polling to have been better.
	soon     = 3 * pollFor
	scoreMax = 16
	// scoreEnough short sleeps more than long ones begin the polling.
	scoreEnough = 4
	// yieldMax is longer than a caller needs that was given the processor, and shorter than
	// anybody's share of it who computes. Where such want it, to sleep is better: whoever
	// wakes goes before them, who polls goes after them.
	yieldMax    = 500 * time.Microsecond
	scoreWanted = 64
)

func newPoller(dev int) *poller {
	return &poller{dev: dev, off: runtime.NumCPU() == 1, yield: schedYield}
}

// wait returns true when a request has come while it looked.
func (p *poller) wait() bool {
	if p.off || p.score.Load() < scoreEnough {
		return false
	}
	for now, end := time.Now(), time.Now().Add(pollFor); ; {
		if p.ready() {
			p.learn(1)
			return true
		}
		if now.After(end) {
			p.learn(-1)
			return false
		}
		before := now
		p.yield()
		if now = time.Now(); now.Sub(before) > yieldMax {
			p.score.Store(-scoreWanted)
			return p.ready()
		}
	}
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
	case d > soon:
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
