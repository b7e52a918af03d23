package wait

import (
	"slices"
	"sync"
)

// Queue holds those who wait for one thing, in the order in which they asked. The first one that is here has the
// turn, and nobody else takes the thing meanwhile. The zero value is ready. Safe for concurrent use.
type Queue struct {
	mu  sync.Mutex
	all []*Ticket // in the order in which they asked
	now *Ticket   // the one with the turn; nil: nobody is here
}

// Ticket is a place in the queue. Leave must follow.
type Ticket struct {
	queue *Queue
	here  bool
	come  chan struct{} // closed when the turn has come
}

// Join takes the last place. Its owner is away until Stand.
func (q *Queue) Join() *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &Ticket{queue: q, come: make(chan struct{})}
	q.all = append(q.all, t)
	return t
}

// Busy reports whether anybody has a place in the queue.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.all) > 0
}

// Waiting returns how many wait in the queue, those who are away not among them.
func (q *Queue) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.all {
		if t.here {
			n++
		}
	}
	return n
}

// Stand says that the owner waits from now on, until Leave. The channel is closed when the turn has
// come.
func (t *Ticket) Stand() <-chan struct{} {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.here = true
	t.queue.advance()
	return t.come
}

// Leave gives the place up. It may be called more than once.
func (t *Ticket) Leave() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.queue.all = slices.DeleteFunc(t.queue.all, func(o *Ticket) bool { return o == t })
	if t.queue.now == t {
		t.queue.now = nil
		t.queue.advance()
	}
}

// Mine reports whether it is the owner's turn.
func (t *Ticket) Mine() bool {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.queue.now == t
}

// advance gives the turn to the first one that is here, if nobody has it. Under mu.
func (q *Queue) advance() {
	if q.now != nil {
		return
	}
	if i := slices.IndexFunc(q.all, func(t *Ticket) bool { return t.here }); i >= 0 {
		q.now = q.all[i]
		close(q.now.come)
	}
}
