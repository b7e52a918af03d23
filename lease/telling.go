package lease

import (
	"context"
	"time"
)

const (
	// notedMost is how many events may wait to be told of. Who would add one more tells of all himself.
	notedMost = 64
	// notedFor is how long one may wait. Commands come some milliseconds apart: those of one such time cost one flush of the disk,
	// which the next claim would otherwise wait behind.
	notedFor = 50 * time.Millisecond
)

// notes are the events that the audit has not been told of, oldest first.
type notes struct {
	events []Event
	since  time.Duration // boot clock of the first
}

// audit reports what happened, after what was noted before; only a steal depends on the answer (rule 12).
func (k *Keeper) audit(e Event) error {
	k.telling.Lock()
	defer k.telling.Unlock()
	k.tellNoted()
	return k.cfg.Audit(k.stamped(e))
}

// note is audit for Run to do: a lease that is taken by writing, and given back when its holder has ended, has the next writer
// waiting, who need not wait for the disk of the audit as well.
func (k *Keeper) note(e Event) {
	k.mu.Lock()
	full := len(k.noted.events) >= notedMost
	if !full {
		if len(k.noted.events) == 0 {
			k.noted.since = k.cfg.Clock.Boot()
		}
		k.noted.events = append(k.noted.events, k.stamped(e))
	}
	k.mu.Unlock()
	if full {
		_ = k.audit(e)
		return
	}
	k.poke()
}

func (k *Keeper) stamped(e Event) Event {
	e.Worktree, e.At = k.cfg.Store.id, k.cfg.Clock.Wall()
	return e
}

// tell tells of what was noted once that is due, unless there is something else to do first, and returns how much of wait is left
// until there is more for it to do.
func (k *Keeper) tell(ctx context.Context, wait time.Duration) time.Duration {
	due, some := k.tellDue()
	switch {
	case !some:
		return wait
	case due > 0:
		return min(wait, due)
	case len(k.wake) > 0 || ctx.Err() != nil:
		return 0
	}
	until := time.Now().Add(wait)
	k.tellAll()
	return max(time.Until(until), 0)
}

// tellDue is in how long the audit is to be told of what was noted, if anything was.
func (k *Keeper) tellDue() (due time.Duration, some bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.noted.events) == 0 {
		return 0, false
	}
	if len(k.noted.events) >= notedMost/2 {
		return 0, true
	}
	return k.noted.since + notedFor - k.cfg.Clock.Boot(), true
}

// tellAll tells of all that was noted.
func (k *Keeper) tellAll() {
	k.telling.Lock()
	defer k.telling.Unlock()
	k.tellNoted()
}

// tellNoted is tellAll for who has telling.
func (k *Keeper) tellNoted() {
	k.mu.Lock()
	all := k.noted.events
	k.noted.events = nil
	k.mu.Unlock()
	if len(all) == 0 || k.cfg.AuditAll(all) == nil {
		return
	}
	for _, e := range all { // one that cannot be told must not take the others with it
		_ = k.cfg.Audit(e) // nothing depends on it
	}
}
