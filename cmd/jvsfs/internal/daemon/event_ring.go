package daemon

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
)

// eventsKept bounds the memory for events. A reader that is slower than that is told what it missed.
const eventsKept = 2048

// noted is an event as it happened. Nothing is formatted before somebody asks.
type noted struct {
	api.Event
	refusal *gate.Refusal // of a refusal, with
	who     writer        // who was refused
	count   uint64        // how many equal refusals it stands for
}

// eventRing remembers the latest events of a mount, under numbers that grow by one. To note one costs a lock and
// a copy: it never waits for a reader. Safe for concurrent use.
type eventRing struct {
	run string // of this daemon: numbers of another one mean nothing here

	mu   sync.Mutex
	ring []noted
	last uint64        // the number of the latest
	over bool          // nothing more comes
	word chan struct{} // closed at the next event; nil: nobody waits
}

func newEventRing() *eventRing { return &eventRing{run: rand.Text()[:12]} }

// note adds an event, and wakes who waits.
func (r *eventRing) note(n noted) {
	if n.At.IsZero() {
		n.At = time.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	n.Run, n.Seq = r.run, r.last
	if len(r.ring) < eventsKept {
		r.ring = append(r.ring, n)
	} else {
		r.ring[(r.last-1)%eventsKept] = n
	}
	r.wake()
}

// end says that nothing more comes.
func (r *eventRing) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wake()
}

// wake needs mu.
func (r *eventRing) wake() {
	if r.word != nil {
		close(r.word)
		r.word = nil
	}
}

// look is what a reader finds.
type look struct {
	events []noted
	next   uint64          // up to here the reader has seen all that is remembered
	first  uint64          // the oldest remembered, if older ones that were asked for are not
	over   bool            // nothing more comes
	more   <-chan struct{} // closed when there is more
}

// after copies at most most events that follow number since.
func (r *eventRing) after(since uint64, most int) look {
	r.mu.Lock()
	defer r.mu.Unlock()
	since = min(since, r.last)
	l := look{next: since}
	if oldest := r.last - uint64(len(r.ring)) + 1; since+1 < oldest {
		l.first, l.next = oldest, oldest-1
	}
	for l.next < r.last && len(l.events) < most {
		l.events = append(l.events, r.ring[l.next%eventsKept])
		l.next++
	}
	l.over = r.over && l.next == r.last
	if r.word == nil {
		r.word = make(chan struct{})
	}
	l.more = r.word
	return l
}

// latest is the number of the latest event.
func (r *eventRing) latest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
