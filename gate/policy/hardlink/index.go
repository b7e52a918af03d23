// Package hardlink knows the other names of a file. In a repository, a hard link that was made behind the mount may put one inode into two
// worktrees, or into one and beside it. Then all its guards must agree. Names outside of the source do not matter: whoever uses them does not
// come through the mount.
//
// It promises that no change of a file with several names is judged by fewer rules than its names have, whoever has made them and when, as
// long as the store tells of changes by the number of links or the change time. It does not promise an answer: a walk that takes too long
// means that the file is not written.
package hardlink

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Config is what an Index needs to know.
type Config struct {
	Tree   *tree.Tree
	Layout func() layout.Layout // as it is now
	// Entry is what the layout says of a name in a directory, whatever is known of what lies there; RootAt is what a directory is whose inode
	// decides, and not its name (a checkout of git).
	Entry  func(in layout.Role, name string) layout.Entry
	RootAt func(tree.Key) (layout.Entry, bool)
	Moves  func() uint64 // how often a worktree's root was renamed
	// Away gives the thread of a caller up while it waits. off is closed when the caller is being killed.
	Away    func(who gate.Request) (off <-chan struct{}, end func())
	Foreign bool // other kernels write the store, so nothing is remembered of files that nobody has asked for
	// Failed is told of a walk that found nothing out, and Unknown of a file that is not written because of that.
	Failed  func(err error)
	Unknown func(inode uint64, err error)
}

// Index is what is known of files with several names. One walk through the source notes all of them. There is one walk at a time,
// for everybody who waits for it. After a walk there is a pause as long as the walk was. So walks take half a processor at most.
type Index struct {
	Config
	turn chan struct{} // capacity 1
	rest time.Time     // no walk begins before; guarded by turn
	stop chan struct{} // closed when nobody asks any more
	all  sync.WaitGroup

	mu     sync.Mutex
	known  map[tree.Key]found
	moves  uint64      // when that was found
	next   *sharedWalk // the walk that has not begun yet, if anybody waits for one
	failed failure

	walks  atomic.Uint64
	looked atomic.Uint64
}

// sharedWalk is one walk, for everybody who asked before it began.
type sharedWalk struct {
	wanted map[tree.Key]bool
	done   chan struct{}
	found  map[tree.Key]found
	moves  uint64
	err    error
}

// failure keeps each touch from repeating a walk that failed.
type failure struct {
	err   error
	until time.Time
}

const (
	// walkMax bounds one walk.
	walkMax = 10 * time.Second
	// restMax bounds the pause between two walks.
	restMax = time.Second
	// failedFor is how long a failed walk is remembered.
	failedFor = 30 * time.Second
	// Settled is the age at which a change time differs from the current time: the kernel's coarse clock has steps of up to 10 ms.
	Settled = 50 * time.Millisecond
)

var (
	errCallerKilled = errors.New("the caller was killed while names were searched for")
	errClosed       = errors.New("nothing is served any more")
)

// New returns an index that knows nothing yet. Close must follow.
func New(c Config) *Index {
	return &Index{Config: c, turn: make(chan struct{}, 1), stop: make(chan struct{})}
}

// Close ends all walks. Nobody may ask any more.
func (b *Index) Close() {
	close(b.stop)
	b.all.Wait()
}

// Pause lets no walk begin until resume, for tests of those who wait for one.
func (b *Index) Pause() (resume func()) {
	b.turn <- struct{}{}
	return sync.OnceFunc(func() { <-b.turn })
}

// Walks are how many walks were made, and how many entries they have read.
func (b *Index) Walks() (walks, entries uint64) { return b.walks.Load(), b.looked.Load() }

func (b *Index) lookUp(k tree.Key, moves uint64) (found, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.moves != moves {
		return found{}, false
	}
	found, ok := b.known[k]
	return found, ok
}

// walk waits for a walk that begins after the call. One that is under way already may have passed a place to which a name came since. A
// caller that is killed does not wait; the walk goes on, for others and to be remembered.
func (b *Index) walk(k tree.Key, who gate.Request) (found, uint64, error) {
	b.mu.Lock()
	if b.failed.err != nil && time.Now().Before(b.failed.until) {
		defer b.mu.Unlock()
		return found{}, 0, b.failed.err
	}
	call, leads := b.next, b.next == nil
	if leads {
		call = &sharedWalk{wanted: make(map[tree.Key]bool), done: make(chan struct{})}
		b.next = call
	}
	call.wanted[k] = true
	b.mu.Unlock()
	if leads {
		b.all.Go(func() { b.lead(call) })
	}
	off, end := b.Away(who) // a walk takes long, and so does a wait for another one
	defer end()
	select {
	case <-call.done:
		return call.found[k], call.moves, call.err
	case <-off:
		return found{}, 0, errCallerKilled
	}
}

// lead makes the walk when it has the turn.
func (b *Index) lead(call *sharedWalk) {
	defer close(call.done)
	select {
	case b.turn <- struct{}{}:
	case <-b.stop:
		call.err = errClosed
		return
	}
	defer func() { <-b.turn }()
	select {
	case <-time.After(time.Until(b.rest)):
	case <-b.stop:
		call.err = errClosed
		return
	}
	b.mu.Lock()
	b.next = nil // whoever comes now waits for the next one
	b.mu.Unlock()

	began := time.Now()
	w := scan{x: b, until: began.Add(walkMax), wanted: call.wanted, found: make(map[tree.Key]found)}
	call.moves = b.Moves()
	call.err = w.run()
	call.found = w.found
	b.walks.Add(1)
	b.looked.Add(w.looked)
	b.rest = time.Now().Add(min(time.Since(began), restMax))
	if call.err != nil {
		b.Failed(call.err)
	}
	b.write(call, began)
}

// write keeps what a walk has found. It skips files that had changed shortly before the walk began,
// by this machine's clock: a walk may miss a name that moves meanwhile.
func (b *Index) write(call *sharedWalk, began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed = (failure{}); call.err != nil {
		b.failed = failure{call.err, time.Now().Add(failedFor)}
		return
	}
	settled := began.Add(-Settled).UnixNano()
	b.known, b.moves = make(map[tree.Key]found), call.moves
	for k, found := range call.found {
		if !b.Foreign && found.ctime < settled {
			b.known[k] = found
		}
	}
}
