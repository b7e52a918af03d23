package tenure

import (
	"context"
	"sync"
)

// A flock belongs to an open file, which stays in the mount of the daemon that was replaced, and its lock on the backing file in that
// daemon. So the next daemon's mount grants it to nobody else, and the tenure goes on there as one that is held elsewhere.
// The old daemon returns the loan when the lock is given up, or with its own end: the tenure ends then. That is
// a moment after the lock is free. Nobody writes beside another in it: who gets the lock begins its tenure when that
// of the one before has ended in both daemons (hold).

// returns ends what is written under the lock here, because its flock was given up, and tells the daemon that leads.
func (l *Lock) returns() {
	if l.book.is(follows) && l.book.cfg.Loans != nil {
		l.mu.Lock()
		l.over = true
		l.mu.Unlock()
		l.book.cfg.Loans.Redeem(l.ID())
	}
}

// keepFlock forgets what was kept of a flock that is not held elsewhere any more. What is taken here ends with this daemon.
func (l *Lock) keepFlock() {
	l.mu.Lock()
	over := l.noted && (l.held == nil || !l.held.elsewhere)
	l.noted = l.noted && !over
	l.mu.Unlock()
	if over {
		_ = l.book.cfg.Memory.Drop(l.ID()) // without the loan it is not believed
	}
}

// heldElsewhere are the locks whose flock is in a daemon that was replaced, with the numbers of the tenures.
func (b *Book) heldElsewhere() map[*Lock]uint64 {
	all := make(map[*Lock]uint64)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.all {
		l.mu.Lock()
		if l.held != nil && l.held.elsewhere {
			all[l.Again()] = l.held.number
		}
		l.mu.Unlock()
	}
	return all
}

// awaitFlocks ends the tenures of flocks that are held elsewhere with their locks.
func (b *Book) awaitFlocks(ctx context.Context) {
	var all sync.WaitGroup
	for l, number := range b.heldElsewhere() {
		all.Go(func() {
			defer l.Done()
			if b.cfg.Loans.Returned(ctx, l.ID()) {
				l.Unlocked(number)
			}
		})
	}
	all.Wait()
}
