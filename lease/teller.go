package lease

import (
	"context"
	"sync"
	"time"
)

const (
	// notedMost is how many events may wait. The caller who adds one more tells all of them.
	notedMost = 64
	// notedFor is how long one may wait. Commands may come some milliseconds apart. Together their events then cost one flush of the
	// disk, and the next claim does not wait behind many.
	notedFor = 50 * time.Millisecond
)

// teller tells events to the audit. It owns the events that it has noted and not told yet. Safe for concurrent use.
type teller struct {
	cfg  *KeeperConfig
	wake alarm

	one sync.Mutex // one caller at a time tells, so that the order stays

	mu     sync.Mutex    // never held across I/O
	events []Event       // noted, oldest first
	since  time.Duration // boot clock of the first
}

// now tells e, after the events that were noted before. Only a steal and a handover depend on the answer (rule 12).
func (t *teller) now(e Event) error {
	t.one.Lock()
	defer t.one.Unlock()
	t.noted()
	return t.cfg.Audit(t.stamped(e))
}

// later notes e for Run to tell. A lease that was taken by writing passes on when its holder has ended: the next writer waits for
// it, and need not wait for the disk of the audit as well.
func (t *teller) later(e Event) {
	t.mu.Lock()
	full := len(t.events) >= notedMost
	if !full {
		if len(t.events) == 0 {
			t.since = t.cfg.Clock.Boot()
		}
		t.events = append(t.events, t.stamped(e))
	}
	t.mu.Unlock()
	if full {
		_ = t.now(e)
		return
	}
	t.wake.poke()
}

func (t *teller) stamped(e Event) Event {
	e.Worktree, e.At = t.cfg.Store.id, t.cfg.Clock.Wall()
	return e
}

// whenDue tells the noted events if they are due and Run has nothing else to do. It returns how long Run may wait after that.
func (t *teller) whenDue(ctx context.Context, wait time.Duration) time.Duration {
	due, some := t.due()
	switch {
	case !some:
		return wait
	case due > 0:
		return min(wait, due)
	case len(t.wake) > 0 || ctx.Err() != nil:
		return 0
	}
	until := time.Now().Add(wait)
	t.all()
	return max(time.Until(until), 0)
}

// due is how long the noted events may still wait. some is false if there are none.
func (t *teller) due() (due time.Duration, some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == 0 {
		return 0, false
	}
	if len(t.events) >= notedMost/2 {
		return 0, true
	}
	return t.since + notedFor - t.cfg.Clock.Boot(), true
}

// all tells all noted events.
func (t *teller) all() {
	t.one.Lock()
	defer t.one.Unlock()
	t.noted()
}

// noted is all, for a caller that has one.
func (t *teller) noted() {
	t.mu.Lock()
	all := t.events
	t.events = nil
	t.mu.Unlock()
	if len(all) == 0 || t.cfg.AuditAll(all) == nil {
		return
	}
	for _, e := range all { // one that cannot be told must not take the others with it
		_ = t.cfg.Audit(e) // nothing depends on it
	}
}
