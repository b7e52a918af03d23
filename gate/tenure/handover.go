package tenure

import (
	"context"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// A daemon that is replaced leaves its book to the next one through Memory: who holds what under which number since when,
// who was robbed, what was made. Its mount is out of sight then. Only files that are open there are still written through it, under
// the tenure in which they were opened. It lends such a lock: a loan (Loans) says that something may be in flight under
// it elsewhere. Before the next daemon ends the tenure, or begins another, it calls the loan in, and waits until the old
// daemon has let nothing in any more and has drained. It is the kernel that says so, as with the gate of a lease: a
// daemon that was killed has returned what it had, with its last thread.

// Loans are the locks under which files are still open in daemons that were replaced. Safe for concurrent use.
type Loans interface {
	// Lend notes that files are open here under a lock; Redeem that nothing is in flight under it any more.
	Lend(id string) error
	Redeem(id string)
	// Lent are the locks that other daemons have lent.
	Lent() ([]string, error)
	// CallIn returns when no other daemon has anything in flight under a lock, and none will have.
	CallIn(id string)
	// Returned waits until no other daemon has lent a lock any more; false: ctx has ended.
	Returned(ctx context.Context, id string) bool
}

// role is whose the book is.
type role int32

const (
	leads   role = iota
	joins        // the daemon before leads still
	follows      // the next daemon leads, or is about to
)

// Join takes over what the daemon before has kept. Nobody acts on it before Lead.
func (b *Book) Join() error {
	if b == nil {
		return nil
	}
	if b.cfg.Loans != nil {
		ids, err := b.cfg.Loans.Lent()
		if err != nil {
			return err
		}
		b.mu.Lock()
		for _, id := range ids {
			b.lent[id] = true
		}
		b.mu.Unlock()
		b.anyLent.Store(len(ids) > 0)
	}
	if b.cfg.Memory != nil {
		b.recall()
	}
	return nil
}

// Lead makes the book the one that counts.
func (b *Book) Lead() {
	if b == nil || !b.role.CompareAndSwap(int32(joins), int32(leads)) {
		return
	}
	for _, id := range b.stale {
		_ = b.cfg.Memory.Drop(id) // what stays is not believed
	}
	b.eachInTurn((*Lock).keep)
	close(b.led)
}

// Follow leaves the book to the next daemon. The file system lets no change of a name through meanwhile, and opens
// nothing for writing. After an error TakeBack must follow, as it may in any case.
func (b *Book) Follow() (err error) {
	b.role.Store(int32(follows))
	b.opening.Lock() // whoever opens a window has it open now, or finds out that this daemon does not lead
	b.EndWindows()   // the next daemon does not know them
	b.opening.Unlock()
	b.eachInTurn(func(l *Lock) {
		if err == nil {
			err = l.leave()
		}
	})
	return err
}

// leave keeps what the next daemon needs. The caller has the turn.
func (l *Lock) leave() error {
	if err := l.put(l.all()); err != nil {
		return err
	}
	if l.users.Load() == 1 || l.book.cfg.Loans == nil { // who asks is one
		return nil
	}
	return l.book.cfg.Loans.Lend(l.ID())
}

// TakeBack is the end of Follow if the next daemon has not come up.
func (b *Book) TakeBack() {
	if b == nil || !b.role.CompareAndSwap(int32(follows), int32(leads)) {
		return
	}
	b.eachInTurn(func(l *Lock) {
		if b.cfg.Loans != nil {
			b.cfg.Loans.Redeem(l.ID())
		}
		l.mu.Lock()
		l.over, l.noted = false, true
		l.mu.Unlock()
		l.keep() // the next daemon may have forgotten it
		b.mayHaveEnded(l)
	})
}

// GiveUp ends what may be written under a lock here: the daemon that leads calls it in. When it returns nothing is in flight under it.
func (b *Book) GiveUp(id string) {
	b.mu.Lock()
	l := b.all[id]
	b.mu.Unlock()
	if l != nil {
		b.inTurn(l, (*Lock).giveUp)
	}
	b.cfg.Loans.Redeem(id)
}

// giveUp closes the guard for good, also to those who need no lock.
func (l *Lock) giveUp() {
	l.mu.Lock()
	h := l.held
	l.over = true
	l.mu.Unlock()
	if h == nil { // the open files are of no tenure: only another one ends them
		h = &held{number: l.book.number.Add(1)}
		l.guard.Open(lease.Grant{Token: lease.Token(h.number), Deadline: forever})
	}
	l.close(h, lease.LossReleased)
}

// callIn ends what the daemons before may still have in flight under the lock. The caller has the turn.
func (l *Lock) callIn() {
	b := l.book
	if !b.anyLent.Load() || b.is(follows) {
		return
	}
	id := l.ID()
	b.mu.Lock()
	lent := b.lent[id]
	b.mu.Unlock()
	if !lent {
		return
	}
	b.cfg.Loans.CallIn(id)
	b.mu.Lock()
	delete(b.lent, id)
	b.mu.Unlock()
}

func (b *Book) is(r role) bool { return role(b.role.Load()) == r }

// eachInTurn does something with each lock while nobody else changes it.
func (b *Book) eachInTurn(do func(*Lock)) {
	b.mu.Lock()
	all := make([]*Lock, 0, len(b.all))
	for _, l := range b.all {
		l.users.Add(1)
		all = append(all, l)
	}
	b.mu.Unlock()
	for _, l := range all {
		b.inTurn(l, do)
		l.Done()
	}
}

func (b *Book) inTurn(l *Lock, do func(*Lock)) {
	l.turn.Lock()
	do(l)
	l.turn.Unlock()
}

// bornMost bounds how many paths a tenure hands over that were made in it. Of more, once protects the rest early.
const bornMost = 4096

// KeptRest is what else is known of a lock.
type KeptRest struct {
	Born []string `json:"born,omitempty"`
	// Seen is an unknown lock file, and when it was first seen so.
	Seen   File          `json:"seen,omitzero"`
	SeenAt time.Duration `json:"seen_at,omitempty"` // boot clock
}

// all is what the next daemon is told.
func (l *Lock) all() Kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := Kept{ID: l.ID(), Lock: l.Path, Robbed: slices.Clone(l.robbed), Rest: &KeptRest{Seen: l.seen, SeenAt: l.seenAt}}
	if l.held != nil {
		k.Held = l.held.kept()
		for path := range l.held.born {
			if len(k.Rest.Born) < bornMost {
				k.Rest.Born = append(k.Rest.Born, path)
			}
		}
	} else if l.seen == (File{}) {
		k.Rest = nil
	}
	return k
}

// restore takes over what else was known of the lock, before a tenure begins.
func (l *Lock) restore(r *KeptRest) {
	if r == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.seenAt = r.Seen, r.SeenAt
}

// bears takes over what was made in the tenure.
func (h *held) bears(r *KeptRest) *held {
	h.born = make(map[string]bool)
	if r != nil {
		for _, path := range r.Born {
			h.born[path] = true
		}
	}
	return h
}
