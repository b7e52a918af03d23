package tenure

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Locked begins the tenure of who has got the flock. It returns its number for Unlocked. The file system lets nobody
// else have the lock before Unlocked.
func (l *Lock) Locked(c gate.Caller) (number uint64, err error) {
	holder, err := l.book.cfg.Resolver.LockHolder(c, l.Rule.Holder)
	if err != nil {
		l.book.tell(Event{Kind: Unseen, Lock: l, By: c, Err: err})
		return 0, err
	}
	file, _ := l.book.files.Look(l.Path)
	l.take(Change{})
	defer func() { <-l.turn }()
	return l.hold(holder, file), nil
}

// Unlocked ends that tenure. When it returns nothing is in flight under it.
func (l *Lock) Unlocked(number uint64) {
	l.take(Change{})
	defer func() { <-l.turn }()
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	if h == nil || h.number != number {
		return
	}
	l.end(lease.LossReleased)
	l.returns()
	l.book.tell(Event{Kind: Released, Lock: l, Holder: h.holder, Number: h.number})
}
