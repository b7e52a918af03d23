package tenure

import (
	"context"
	"errors"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Why a lock cannot be broken by hand.
var (
	ErrFree    = errors.New("nobody holds the lock")
	ErrWindow  = errors.New("a maintenance window is open")
	ErrAnother = errors.New("the lock has changed hands since it was looked at")
)

// Break takes a lock from its holder, whatever its rule says, and removes its file. number is the tenure that is to end;
// 0 ends any. The holder is robbed: it stays out until it takes the lock anew. The view is that of before.
func (b *Book) Break(ctx context.Context, i lockfile.Instance, number uint64, by process.Caller) (View, error) {
	l := b.lockOf(i)
	defer l.Done()
	b.trees.RLock()
	defer b.trees.RUnlock()
	if !l.turn.LockOr(ctx.Done()) {
		return View{}, ctx.Err()
	}
	defer l.turn.Unlock()
	l.checkFile() // what is removed is what was looked at
	was := l.View()
	switch {
	case was.State == StateFree:
		return was, ErrFree
	case was.State == StateWindow:
		return was, ErrWindow
	case number != 0 && was.Tenure != number:
		return was, ErrAnother
	}
	return was, l.breakNow(by)
}

// breakNow removes the file first, as a removal through the mount does. The caller has the turn.
func (l *Lock) breakNow(by process.Caller) error {
	l.mu.Lock()
	h, file := l.held, l.seen
	l.mu.Unlock()
	if h != nil {
		file = h.file
	}
	if err := l.book.files.Remove(l.Path, file); err != nil {
		return err
	}
	e := Event{Kind: Broken, Lock: l, By: by}
	if h != nil {
		l.end(lease.LossSuperseded)
		e.Holder, e.Number = h.holder, h.number
	}
	l.book.tell(e)
	return nil
}
