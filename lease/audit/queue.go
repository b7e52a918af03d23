package audit

import (
	"context"
	"sync"
	"time"
)

const (
	// QueueMost is how many events may wait. The caller who adds one more tells all of them.
	QueueMost = 64
	// QueueFor is how long one may wait. Commands may come some milliseconds apart. Together their events then cost one flush of the
	// disk, and the next claim does not wait behind many.
	QueueFor = 50 * time.Millisecond
)

// QueueConfig is what a queue needs of whoever has it. All of it is required.
type QueueConfig[E any] struct {
	Audit    func(E) error        // tells one event
	AuditAll func([]E) error      // tells several, none of which anything depends on
	Stamp    func(E) E            // says what it is about, and when it was
	Boot     func() time.Duration // the boot clock
	Wake     func()               // an event was noted: somebody shall ask WhenDue
	Busy     func() bool          // whoever asks WhenDue has something else to do
}

// Queue tells events to the audit in their order. It owns the events that it has noted and not told yet. Safe for concurrent use.
type Queue[E any] struct {
	cfg QueueConfig[E]

	one sync.Mutex // one caller at a time tells, so that the order stays

	mu     sync.Mutex    // never held across I/O
	events []E           // noted, oldest first
	since  time.Duration // boot clock of the first
}

// NewQueue is an empty queue.
func NewQueue[E any](cfg QueueConfig[E]) *Queue[E] { return &Queue[E]{cfg: cfg} }

// Now tells e, after the events that were noted before. Only a steal and a handover depend on the answer (rule 12).
func (q *Queue[E]) Now(e E) error {
	q.one.Lock()
	defer q.one.Unlock()
	q.noted()
	return q.cfg.Audit(q.cfg.Stamp(e))
}

// Later notes e for WhenDue to tell. A lease that was taken by writing passes on when its holder has ended: the next writer waits for
// it, and need not wait for the disk of the audit as well.
func (q *Queue[E]) Later(e E) {
	q.mu.Lock()
	full := len(q.events) >= QueueMost
	if !full {
		if len(q.events) == 0 {
			q.since = q.cfg.Boot()
		}
		q.events = append(q.events, q.cfg.Stamp(e))
	}
	q.mu.Unlock()
	if full {
		_ = q.Now(e)
		return
	}
	q.cfg.Wake()
}

// WhenDue tells the noted events if they are due and the caller is not busy. It returns how long the caller may wait after that.
func (q *Queue[E]) WhenDue(ctx context.Context, wait time.Duration) time.Duration {
	due, some := q.due()
	switch {
	case !some:
		return wait
	case due > 0:
		return min(wait, due)
	case q.cfg.Busy() || ctx.Err() != nil:
		return 0
	}
	until := time.Now().Add(wait)
	q.All()
	return max(time.Until(until), 0)
}

// due is how long the noted events may still wait. some is false if there are none.
func (q *Queue[E]) due() (due time.Duration, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		return 0, false
	}
	if len(q.events) >= QueueMost/2 {
		return 0, true
	}
	return q.since + QueueFor - q.cfg.Boot(), true
}

// All tells all noted events.
func (q *Queue[E]) All() {
	q.one.Lock()
	defer q.one.Unlock()
	q.noted()
}

// noted is All, for a caller that has one.
func (q *Queue[E]) noted() {
	q.mu.Lock()
	all := q.events
	q.events = nil
	q.mu.Unlock()
	if len(all) == 0 || q.cfg.AuditAll(all) == nil {
		return
	}
	for _, e := range all { // one that cannot be told must not take the others with it
		_ = q.cfg.Audit(e) // nothing depends on it
	}
}
