package lockfiles

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// A lock that is taken by flock(2) belongs to everybody who shares the open file. Who that is, is the file system's to know.

// flocks are the tenures of owners of a flock whose file a rule tells of, by the file's number. The zero value is ready.
type flocks struct {
	some atomic.Bool // there was one
	of   sync.Map    // *flockTenure
}

type flockTenure struct {
	lock   *tenure.Lock
	owner  uint64
	number uint64
}

// begin notes a tenure. It ends the use of the lock of the one before.
func (t *flocks) begin(file, owner uint64, l *tenure.Lock, number uint64) {
	t.some.Store(true)
	if old, was := t.of.Swap(file, &flockTenure{l, owner, number}); was {
		old.(*flockTenure).lock.Done()
	}
}

// Flocked returns the lock that a flock on an inode takes; nil if no rule tells of one. Done must follow. A file that
// has lost its name locks nothing.
func (p *Policy) Flocked(i tree.Inode) *tenure.Lock {
	if p == nil || i.IsDir() {
		return nil
	}
	rel, ok := p.tree.Path(i.FD())
	if !ok {
		return nil
	}
	for _, i := range p.book.Rules().At(rel).Locks {
		if i.Rule.TakenBy == lockfile.ByFlock {
			return p.book.Use(i)
		}
	}
	return nil
}

// IsFlocked reports whether a flock on an inode is that of a lock that a rule tells of.
func (p *Policy) IsFlocked(i tree.Inode) bool {
	l := p.Flocked(i)
	if l == nil {
		return false
	}
	l.Done()
	return true
}

// MayFlock refuses to take a lock over which somebody else's maintenance window is open.
func (p *Policy) MayFlock(i tree.Inode, c process.Caller) error {
	l := p.Flocked(i)
	if l == nil {
		return nil
	}
	defer l.Done()
	return told(l.Barred(c))
}

// BeginFlock begins the tenure of who has got a lock of Flocked, whose use it ends. The owner of the flock and its file have numbers. If a
// window was opened meanwhile it is refused, which was told.
func (p *Policy) BeginFlock(l *tenure.Lock, i tree.Inode, c process.Caller, file, owner uint64) *gate.Refusal {
	is, _ := fileAt(i.FD(), "")
	number, err := l.Locked(c, is)
	if err != nil {
		l.Done()
		no, _ := errors.AsType[*gate.Refusal](err)
		return no
	}
	p.flocks.begin(file, owner, l, number)
	return nil
}

// EndFlock ends the tenure of an owner of a flock, if there is one.
func (p *Policy) EndFlock(file, owner uint64) {
	if p == nil {
		return
	}
	v, _ := p.flocks.of.Load(file)
	if l, is := v.(*flockTenure); is && l.owner == owner && p.flocks.of.CompareAndDelete(file, l) {
		l.lock.Unlocked(l.number)
		l.lock.Done()
	}
}

// HasFlock reports whether somebody may have a tenure by a flock on a file.
func (p *Policy) HasFlock(file uint64) bool {
	if p == nil || !p.flocks.some.Load() {
		return false
	}
	_, held := p.flocks.of.Load(file)
	return held
}
