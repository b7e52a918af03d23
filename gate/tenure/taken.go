package tenure

import (
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// renew notes that the holder has changed its lock file: its age begins anew.
func (l *Lock) renew() {
	file, there := l.book.files.Look(l.Path)
	l.mu.Lock()
	if l.held != nil && there {
		l.held.file, l.held.renewed = file, l.book.now()
	}
	l.next = nil
	l.mu.Unlock()
	l.keep()
}

// taken begins the tenure of who has just made the lock. One that cannot be seen here holds it unknown.
func (l *Lock) taken(c process.Caller, taker *lease.Holder) {
	file, there := l.book.files.Look(l.Path)
	if !there { // it was removed past the mount
		l.nobodys()
		return
	}
	if taker == nil {
		holder, err := l.book.cfg.Resolver.LockHolder(c, l.Rule.Holder)
		if err != nil {
			l.nobodys()
			l.book.tell(Event{Kind: Unseen, Lock: l, By: c, Err: err})
			return
		}
		taker = &holder
	}
	l.hold(*taker, file)
}

// nobodys ends the former tenure, if the lock file that it had was removed past the mount, and drains what is written without
// one: nobody must write beside another.
func (l *Lock) nobodys() {
	l.callIn()
	l.guard.EndFree()
	l.checkFile()
	l.intends(nil)
}

func (l *Lock) hold(holder lease.Holder, file File) (number uint64) {
	h := &held{number: l.book.number.Add(1), holder: holder, file: file, since: time.Now(), renewed: l.book.now(), born: make(map[string]bool)}
	l.callIn()
	l.begin(h)
	l.keep()
	l.book.tell(Event{Kind: Taken, Lock: l, Holder: holder, Number: h.number})
	return h.number
}
