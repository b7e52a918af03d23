package fusefs

import (
	"sync/atomic"

	"github.com/jvsfs/jvsfs/gate"
)

// nameless is the exempt place of a file when it lost its last name, or when it was made without
// one (O_TMPFILE). Whoever has it open goes on there. A file that was guarded when it lost its name
// has no such place.
type nameless struct{ at atomic.Pointer[gate.Where] }

func (x *nameless) where() gate.Where {
	if w := x.at.Load(); w != nil {
		return *w
	}
	return gate.Where{}
}

// born notes a file that was made without a name.
func (p *permit) born(n *node) {
	if p.byPlace() {
		n.nameless.at.Store(new(p.place.Found()))
	}
}

// dying notes that the inode whose name is about to go was exempt. The caller says afterwards
// whether the name has gone.
func (p *permit) dying() (went func(bool)) {
	if !p.byPlace() || p.place.Dies() == nil {
		return func(bool) {}
	}
	n := p.place.Dies().(*node)
	n.nameless.at.Store(new(p.place.Found()))
	return func(gone bool) {
		if !gone {
			n.nameless.at.Store(nil)
		}
	}
}

// named forgets the place: the file has a name again.
func (x *nameless) named() { x.at.Store(nil) }
