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
// pollFor, giving way to whoever else wants its processor, and only then sleeps; it
// stops looking as soon as that does not pay.
type poller struct {
	dev   int
	off   bool         // with one processor the caller could not go on meanwhile
	score atomic.Int32 // how much it has paid lately, up to scoreMax
}

const (
	// pollFor is longer than a caller takes from one answer to its next call, and short
	// against the quantum of a processor.
	pollFor  = 30 * time.Microsecond
	scoreMax = 16
	// scoreEnough waits in a row that were short begin the polling.
	scoreEnough = 4
	// scoreMiss outweighs what was spent in vain: a few misses end the polling.
	scoreMiss = 4
)

func newPoller(dev int) *poller { return &poller{dev: dev, off: runtime.NumCPU() == 1} }

// wait returns true when a request has come while it looked.
func (p *poller) wait() bool {
	if p.off || p.score.Load() < scoreEnough {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(p.dev), Events: unix.POLLIN}}
	for end := time.Now().Add(pollFor); time.Now().Before(end); {
		// Not unix.Poll: neither call sleeps, so the Go scheduler need not know of them.
		if n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&noTime)), 0, 0, 0); n != 0 {
			p.learn(1)
			return true
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	p.learn(-scoreMiss)
	return false
}

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
	if now := p.score.Load(); now+by >= 0 && now+by <= scoreMax {
		p.score.Store(now + by)
	} else if by < 0 {
		p.score.Store(0)
	}
}
