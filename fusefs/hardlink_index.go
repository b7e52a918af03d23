package fusefs

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// hardlinkIndex is what is known of files with several names. One walk through the source notes all of them. There is one walk at a time,
// for everybody who waits for it. After a walk there is a pause as long as the walk was. So walks take half a processor at most.
type hardlinkIndex struct {
	turn chan struct{} // capacity 1
	rest time.Time     // no walk begins before; guarded by turn
	stop chan struct{} // closed when nobody asks any more
	all  sync.WaitGroup

	mu     sync.Mutex
	known  map[tree.Key]linkFound
	moves  uint64    // when that was found
	next   *linkCall // the walk that has not begun yet, if anybody waits for one
	failed linkFailure

	walks  atomic.Uint64
	looked atomic.Uint64
}

// linkCall is one walk, for everybody who asked before it began.
type linkCall struct {
	wanted map[tree.Key]bool
	done   chan struct{}
	found  map[tree.Key]linkFound
	moves  uint64
	err    error
}

// linkFailure keeps each touch from repeating a walk that failed.
type linkFailure struct {
	err   error
	until time.Time
}

const (
	// linkWalkMax bounds one walk.
	linkWalkMax = 10 * time.Second
	// linkRestMax bounds the pause between two walks.
	linkRestMax = time.Second
	// linkFailedFor is how long a failed walk is remembered.
	linkFailedFor = 30 * time.Second
	// linkSettled is the age at which a change time differs from the current time: the kernel's coarse clock has steps of up to 10 ms.
	linkSettled = 50 * time.Millisecond
)

var (
	errCallerKilled = errors.New("the caller was killed while names were searched for")
	errBookClosed   = errors.New("nothing is served any more")
)

func newHardlinkIndex() hardlinkIndex {
	return hardlinkIndex{turn: make(chan struct{}, 1), stop: make(chan struct{})}
}

// close ends all walks. Nobody may ask any more.
func (b *hardlinkIndex) close() {
	close(b.stop)
	b.all.Wait()
}

func (b *hardlinkIndex) lookUp(k tree.Key, moves uint64) (linkFound, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.moves != moves {
		return linkFound{}, false
	}
	found, ok := b.known[k]
	return found, ok
}

// walk waits for a walk that begins after the call. One that is under way already may have passed a place to which a name came since. A
// caller that is killed does not wait; the walk goes on, for others and to be remembered.
func (b *hardlinkIndex) walk(f *rawFS, k tree.Key, who gate.Request) (linkFound, uint64, error) {
	b.mu.Lock()
	if b.failed.err != nil && time.Now().Before(b.failed.until) {
		defer b.mu.Unlock()
		return linkFound{}, 0, b.failed.err
	}
	call, leads := b.next, b.next == nil
	if leads {
		call = &linkCall{wanted: make(map[tree.Key]bool), done: make(chan struct{})}
		b.next = call
	}
	call.wanted[k] = true
	b.mu.Unlock()
	if leads {
		b.all.Go(func() { b.lead(f, call) })
	}
	off, end := f.moveLock.waits(who) // a walk takes long, and so does a wait for another one
	defer end()
	select {
	case <-call.done:
		return call.found[k], call.moves, call.err
	case <-off:
		return linkFound{}, 0, errCallerKilled
	}
}

// lead makes the walk when it has the turn.
func (b *hardlinkIndex) lead(f *rawFS, call *linkCall) {
	defer close(call.done)
	select {
	case b.turn <- struct{}{}:
	case <-b.stop:
		call.err = errBookClosed
		return
	}
	defer func() { <-b.turn }()
	select {
	case <-time.After(time.Until(b.rest)):
	case <-b.stop:
		call.err = errBookClosed
		return
	}
	b.mu.Lock()
	b.next = nil // whoever comes now waits for the next one
	b.mu.Unlock()

	began := time.Now()
	w := hardlinkScan{f: f, until: began.Add(linkWalkMax), wanted: call.wanted, found: make(map[tree.Key]linkFound)}
	call.moves = f.moves.Load()
	call.err = w.run()
	call.found = w.found
	b.walks.Add(1)
	b.looked.Add(w.looked)
	b.rest = time.Now().Add(min(time.Since(began), linkRestMax))
	if call.err != nil {
		f.opts.Log.Warn("names of files with several could not be looked for, so such files are not written", zap.Error(call.err))
	}
	b.write(call, began, f.durable)
}

// write keeps what a walk has found. It skips files that had changed shortly before the walk began,
// by this machine's clock: a walk may miss a name that moves meanwhile.
func (b *hardlinkIndex) write(call *linkCall, began time.Time, foreign bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed = (linkFailure{}); call.err != nil {
		b.failed = linkFailure{call.err, time.Now().Add(linkFailedFor)}
		return
	}
	settled := began.Add(-linkSettled).UnixNano()
	b.known, b.moves = make(map[tree.Key]linkFound), call.moves
	for k, found := range call.found {
		if !foreign && found.ctime < settled {
			b.known[k] = found
		}
	}
}
