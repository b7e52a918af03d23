package lease

import (
	"context"
	"time"
)

// notedMost is how many events may wait to be told of. Who would add one more tells of all himself.
const notedMost = 8

// audit reports what happened, after what was noted before; only a steal depends on the answer (rule 12).
func (k *Keeper) audit(e Event) error {
	k.telling.Lock()
	defer k.telling.Unlock()
	for k.tellNext() {
	}
	return k.cfg.Audit(k.stamped(e))
}

// note is audit for Run to do: a lease that is taken by writing, and given back when its holder has ended, has the next writer
// waiting, who need not wait for the disk of the audit as well.
func (k *Keeper) note(e Event) {
	k.mu.Lock()
	full := len(k.noted) >= notedMost
	if !full {
		k.noted = append(k.noted, k.stamped(e))
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

// tell tells of what was noted until there is something else to do, in wait at the latest, and returns what is left of that.
func (k *Keeper) tell(ctx context.Context, wait time.Duration) time.Duration {
	until := time.Now().Add(wait)
	k.telling.Lock()
	defer k.telling.Unlock()
	for len(k.wake) == 0 && ctx.Err() == nil && time.Now().Before(until) && k.tellNext() {
	}
	return max(time.Until(until), 0)
}

// tellAll tells of all that was noted.
func (k *Keeper) tellAll() {
	k.telling.Lock()
	defer k.telling.Unlock()
	for k.tellNext() {
	}
}

// tellNext tells of one event, if there is one. The caller has telling.
func (k *Keeper) tellNext() bool {
	k.mu.Lock()
	if len(k.noted) == 0 {
		k.mu.Unlock()
		return false
	}
	e := k.noted[0]
	k.noted = k.noted[1:]
	k.mu.Unlock()
	_ = k.cfg.Audit(e) // nothing depends on it
	return true
}
