package transport

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller keeps a reader awake for a moment while requests come in quick succession. To wake a
// sleeping thread costs the caller more than most requests take, and it costs processor time on
// both sides. A reader polls for the next request for pollFor and only then sleeps. It stops
// polling as soon as that does not pay, or when somebody else wants its processor.
type poller struct {
	dev   int
	off   bool         // with one processor the caller could not run meanwhile
	score atomic.Int32 // how well it has paid lately, up to scoreMax
	yield func()       // gives the processor to others, if any want it
}

const (
	// pollFor is longer than a caller needs from one answer to its next call, and short against the
	// quantum of a processor.
	pollFor = 50 * time.Microsecond
	// soon: a sleep shorter than this would have been better as polling.
	soon     = 3 * pollFor
	scoreMax = 16
	// scoreEnough is how many more short sleeps than long ones begin the polling.
	scoreEnough = 4
	// yieldMax is longer than a caller needs that was given the processor, and shorter than the
	// share of a thread that computes. If such threads want the processor, it is better to sleep: a
	// thread that wakes goes before them, a thread that polls goes after them.
	yieldMax    = 500 * time.Microsecond
	scoreWanted = 64
)

func newPoller(dev int) *poller {
	return &poller{dev: dev, off: runtime.NumCPU() == 1, yield: schedYield}
}

// wait polls and returns true if a request has come.
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

// ready is poll(2) without the Go scheduler, which need not know of a call that does not sleep.
func (p *poller) ready() bool {
	fds := [1]unix.PollFd{{Fd: int32(p.dev), Events: unix.POLLIN}}
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&noTime)), 0, 0, 0)
	return n == 1 // a signal may have interrupted it
}

func schedYield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// noTime is the timeout of ppoll. The kernel may write to it.
var noTime unix.Timespec

// slept notes a wait without polling. A request that was there already says nothing.
func (p *poller) slept(d time.Duration) {
	switch {
	case d > soon:
		p.learn(-1)
	case d > promptly:
		p.learn(1)
	}
}

// learn need not count exactly when several readers call it.
func (p *poller) learn(by int32) {
	now := p.score.Load()
	if by < 0 && now <= 0 {
		return
	}
	p.score.Store(min(now+by, scoreMax))
}
