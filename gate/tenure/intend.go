package tenure

import (
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// intend keeps who is about to take or to renew the lock, before its file is there. If the daemon is killed between the two, the
// caller gets an error, but the file is there: the next daemon knows whose it is, and when it may go.
func (t *Turn) intend(p *part) {
	l := p.lock
	file, comes := t.coming(p.name)
	if !comes || l.Rule.TakenBy == lockfile.ByFlock {
		return
	}
	next := l.renewed(p.outcome)
	if next == nil {
		holder, err := l.book.cfg.Resolver.LockHolder(t.change.Caller, l.Rule.Holder)
		if err != nil {
			return // taken tells of it
		}
		p.taker = &holder
		next = &KeptTenure{Number: l.book.number.Add(1), Holder: holder, Since: time.Now(), Renewed: l.book.now()}
	}
	next.File, p.intends = file, true
	l.intends(next)
}

// coming is the file that is to lie at a name, the zero value if it is made anew; false if none comes, or it is not known which.
func (t *Turn) coming(n Name) (file File, comes bool) {
	switch {
	case !n.Comes:
		return File{}, false
	case t.change.Op == gate.OpRename:
		return t.book.files.Look(t.source(n))
	case n.Exists: // the file system refuses it
		return File{}, false
	}
	return n.File, t.change.Op != gate.OpLink || n.File != File{}
}

// source is the path from which a rename brings a name's file: in an exchange the other name.
func (t *Turn) source(to Name) string {
	for _, n := range t.change.Names {
		if t.change.From == "" && n.Path != to.Path {
			return n.Path
		}
	}
	return t.change.From
}

// renewed is the tenure as it is after a renewal; nil if the change is none.
func (l *Lock) renewed(o lockfile.Outcome) *KeptTenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o != lockfile.Renews || l.held == nil {
		return nil
	}
	next := l.held.kept()
	next.Renewed = l.book.now()
	return next
}

// intends has it kept who is about to take the lock; nil: nobody any more.
func (l *Lock) intends(next *KeptTenure) {
	l.mu.Lock()
	l.next = next
	l.mu.Unlock()
	l.keep()
}
