package tenure

import (
	"cmp"
	"slices"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Name is a name that a request is about to change.
type Name struct {
	Path   string
	Locks  []lockfile.Instance // that the path is the lock of
	Exists bool
	IsDir  bool
	Comes  bool // after the change something else lies there: it is made, or the target of a rename
	File   File // what gets the name by a link
}

// Change is a change of names: one, or the two of a rename.
type Change struct {
	Op     gate.Op
	Caller process.Caller
	// Away begins a wait: the channel is closed when the caller does not wait any more. nil: it waits.
	Away  func() (off <-chan struct{}, end func())
	Names []Name
	From  string // the source of a rename
}

// Turn is the right to change the names of locks, one at a time. nil changes no lock.
type Turn struct {
	book   *Book
	change Change
	parts  []part
	whole  bool // of all trees
}

// part is one lock whose name changes.
type part struct {
	lock    *Lock
	name    Name
	outcome lockfile.Outcome
	taker   *lease.Holder // who is about to take the lock; nil: nobody, or one who cannot be seen
	intends bool          // that was kept
}

// Begin waits until nobody else changes one of these locks, and judges the change. It must be asked before any guard is
// entered: whoever has the turn may wait for what is in flight. Without a lock among the names it returns nil.
// interrupted says that the caller does not wait any more.
func (b *Book) Begin(c Change) (t *Turn, no *gate.Refusal, interrupted bool) {
	t = &Turn{book: b, change: c}
	dirs := false
	for _, n := range c.Names {
		for _, i := range n.Locks {
			t.parts = append(t.parts, part{lock: b.Use(i), name: n})
		}
		dirs = dirs || n.Exists && n.IsDir && c.Op == gate.OpRename
	}
	if len(t.parts) == 0 && !dirs {
		return nil, nil, false
	}
	if t.whole = dirs; dirs {
		b.trees.Lock()
	} else {
		b.trees.RLock()
	}
	if !t.take() {
		t.leave(0)
		return nil, nil, true
	}
	if no = t.judge(); no != nil && b.refuse(no) {
		t.leave(len(t.parts))
		return nil, no, false
	}
	for i := range t.parts {
		t.intend(&t.parts[i])
	}
	return t, nil, false
}

// take takes the turns of all locks, in one order for everybody. What was seen of a name before a wait may be over.
func (t *Turn) take() bool {
	slices.SortFunc(t.parts, func(a, b part) int { return cmp.Compare(a.lock.ID(), b.lock.ID()) })
	waited := false
	for i, p := range t.parts {
		if i > 0 && p.lock == t.parts[i-1].lock || p.lock.turn.TryLock() {
			continue
		}
		if waited = true; !p.lock.take(t.change) {
			t.giveBack(i)
			return false
		}
	}
	for i := range t.parts {
		if n := &t.parts[i].name; waited {
			_, n.Exists = t.book.files.Look(n.Path)
		}
	}
	return true
}

// take waits for the turn, unless the caller does not wait any more.
func (l *Lock) take(c Change) bool {
	if c.Away == nil {
		l.turn.Lock()
		return true
	}
	off, end := c.Away()
	defer end()
	return l.turn.LockOr(off)
}

func (t *Turn) giveBack(first int) {
	for i, p := range t.parts[:first] {
		if i == 0 || p.lock != t.parts[i-1].lock {
			p.lock.turn.Unlock()
		}
	}
}

// leave gives back what was taken: the turns of the first locks, and the trees.
func (t *Turn) leave(first int) {
	t.giveBack(first)
	for _, p := range t.parts {
		p.lock.Done()
	}
	if t.whole {
		t.book.trees.Unlock()
	} else {
		t.book.trees.RUnlock()
	}
}

// End notes what has become of the locks. It must be asked when the change has left its guards.
func (t *Turn) End(done bool) {
	if t == nil {
		return
	}
	for i := range t.parts {
		if p := &t.parts[i]; done {
			p.carryOut(t.change)
		} else if p.intends {
			p.lock.intends(nil)
		}
	}
	t.leave(len(t.parts))
}

func (p *part) carryOut(c Change) {
	l := p.lock
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	switch {
	case l.window.Load() != nil && p.name.Exists && h != nil:
		l.goesInWindow(h, c.Caller)
	case p.name.Exists && p.outcome == lockfile.Renews && h != nil && !l.book.cfg.Resolver.Gone(h.holder):
		l.renew()
		return
	case p.name.Exists && p.outcome == lockfile.Releases && h != nil:
		l.end(lease.LossReleased)
		l.book.tell(Event{Kind: Released, Lock: l, Holder: h.holder, Number: h.number})
	case p.name.Exists && p.outcome == lockfile.Breaks && h != nil:
		l.end(lease.LossSuperseded)
		l.book.tell(Event{Kind: Broken, Lock: l, Holder: h.holder, Number: h.number, By: c.Caller})
	case p.name.Exists && p.outcome == lockfile.Breaks:
		l.book.tell(Event{Kind: Broken, Lock: l, By: c.Caller})
	}
	if p.name.Comes && l.Rule.TakenBy != lockfile.ByFlock {
		l.taken(c.Caller, p.taker)
	}
}
