package tenure

import (
	"errors"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

var errNoName = errors.New("the lock file has another name now, or none")

// Locked begins the tenure of who has got the flock on a file. It returns its number for Unlocked. The file system lets nobody
// else have the lock before Unlocked. A file that has lost the name meanwhile locks nothing: another may hold the one that has it.
func (l *Lock) Locked(c process.Caller, of File) (number uint64, err error) {
	holder, err := l.book.cfg.Resolver.LockHolder(c, l.Rule.Holder)
	if err != nil {
		l.book.tell(Event{Kind: Unseen, Lock: l, By: c, Err: err})
		return 0, err
	}
	l.take(Change{})
	defer l.turn.Unlock()
	if no := l.Barred(c); no != nil {
		return 0, no
	}
	if file, there := l.book.files.Look(l.Path); !there || !file.same(of) {
		return 0, errNoName
	}
	return l.hold(holder, of), nil
}

// Unlocked ends that tenure. When it returns nothing is in flight under it.
func (l *Lock) Unlocked(number uint64) {
	l.take(Change{})
	defer l.turn.Unlock()
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

// Barred refuses to take the flock of a lock over which somebody else's maintenance window is open.
func (l *Lock) Barred(c process.Caller) *gate.Refusal {
	if l.window.Load() == nil {
		return nil
	}
	var f lockfile.Facts
	holder := l.look(c, &f)
	if f.State != lockfile.Window || f.Member {
		return nil
	}
	l.countRefusal()
	if no := l.refusal(Change{Op: gate.OpSetLk, Caller: c}, gate.ReasonLockHeld, holder); l.book.refuse(no) {
		return no
	}
	return nil
}
