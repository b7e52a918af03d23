package events

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
)

// kept bounds the memory for events. A reader that is slower than that is told what it missed.
const kept = 2048

// noted is an event as it happened. Nothing is formatted before somebody asks.
type noted struct {
	api.Event
	refusal *refusals.Fresh // of a refusal
}

// ring remembers the latest events of a mount, under numbers that grow by one. To note one costs a lock and
// a copy: it never waits for a reader. Safe for concurrent use.
type ring struct {
	run string // of this daemon: numbers of another one mean nothing here

	mu     sync.Mutex
	events []noted
	last   uint64        // the number of the latest
	over   bool          // nothing more comes
	word   chan struct{} // closed at the next event; nil: nobody waits
}

func newRing() *ring { return &ring{run: rand.Text()[:12]} }

// note adds an event, and wakes who waits.
func (r *ring) note(n noted) {
	if n.At.IsZero() {
		n.At = time.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	n.Run, n.Seq = r.run, r.last
	if len(r.events) < kept {
		r.events = append(r.events, n)
	} else {
		r.events[(r.last-1)%kept] = n
	}
	r.wake()
}

// end says that nothing more comes.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wake()
}

// wake needs mu.
func (r *ring) wake() {
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
func (r *ring) after(since uint64, most int) look {
	r.mu.Lock()
	defer r.mu.Unlock()
	since = min(since, r.last)
	l := look{next: since}
	if oldest := r.last - uint64(len(r.events)) + 1; since+1 < oldest {
		l.first, l.next = oldest, oldest-1
	}
	for l.next < r.last && len(l.events) < most {
		l.events = append(l.events, r.events[l.next%kept])
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
func (r *ring) latest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
