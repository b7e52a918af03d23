package engine

import (
	"fmt"
	"sync"
)

// Rank is the place of a lock in the one order in which a change takes all that it needs. Nothing waits for a lock of a lower rank, or of
// the same one, while it holds one. So nobody waits in a circle.
//
//	Gates       the gates of leases, and of other programs' lock files; here a change may wait for long (for a lease, a freeze, a handover)
//	Moves       that no name moves between a place that is exempt and one that is not
//	Repository  that nothing else changes in a git repository whose files decide
//	LockFiles   that no lock file of git which is about to be removed gets another name
//	Snapshots   that no snapshot of JVS becomes READY, or is removed
//
// Whoever passes a gate counts itself there and holds nothing: so one change passes several, and those of lock files after Moves was taken
// for a lease's. A rename of a worktree's root takes more before (fusefs/move.go).
type Rank uint8

// The ranks, in their order. 0 is none.
const (
	Gates Rank = iota + 1
	Moves
	Repository
	LockFiles
	Snapshots
)

func (r Rank) String() string {
	return [...]string{"nothing", "gates", "moves", "repository", "lock files", "snapshots"}[r]
}

// held is a lock as it is held.
type held struct {
	rank  Rank
	lock  *sync.RWMutex
	alone bool
}

// Held is what one change holds besides its passes. The zero value holds nothing. It belongs to one goroutine.
type Held struct {
	of [3]held // the ranks that are locks
	n  int
	at Rank // the highest that was reached
}

// Reach says that something of a rank is about to be taken that is not kept here. In a build with the race detector the program ends if that
// is out of order.
func (h *Held) Reach(r Rank) {
	if Checked && r < h.at {
		outOfOrder(fmt.Sprintf("%v is taken after %v", r, h.at))
	}
	h.at = max(h.at, r)
}

// Take takes a lock, alone or with others. One that is held already is not taken again: two policies may need the same.
func (h *Held) Take(r Rank, l *sync.RWMutex, alone bool) {
	for _, have := range h.of[:h.n] {
		if have.lock == l {
			if Checked && alone && !have.alone {
				outOfOrder(fmt.Sprintf("%v is held with others, and then needed alone", r))
			}
			return
		}
	}
	h.Reach(r)
	if alone {
		l.Lock()
	} else {
		l.RLock()
	}
	h.of[h.n] = held{r, l, alone}
	h.n++
}

// Has reports whether a lock of a rank is held.
func (h *Held) Has(r Rank) bool {
	for _, have := range h.of[:h.n] {
		if have.rank == r {
			return true
		}
	}
	return false
}

// Release lets go of all, the last one first. It may be called again.
func (h *Held) Release() {
	for ; h.n > 0; h.n-- {
		if last := h.of[h.n-1]; last.alone {
			last.lock.Unlock()
		} else {
			last.lock.RUnlock()
		}
	}
	h.at = 0
}
