package lease

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// ClaimsKept is how many of the newest claims are never swept, so that the records show how the latest leases ended.
const ClaimsKept = 64

const (
	// To read and remove a claim costs some 50 µs, and a writer may have to wait for that. So few claims are swept at a time, but more
	// if an older version has left many.
	sweepFew, sweepMany = 4, 32
	sweepBehind         = 256
	sweepJump           = 4096 // if so many tokens are behind, numbers were left out: list the directory instead of counting
	sweepPause          = 10 * time.Millisecond
)

// sweeper removes claims that say nothing any more (rule 15). A writer waits for a listing of the lock directory when a lease passes on;
// without the sweeper that would take longer with every token used. It owns where it is. Only with op.
type sweeper struct {
	keep  Token // ClaimsKept
	begun bool
	todo  []Token // found by a listing, ascending
	next  Token   // the first token after them

	last  Token // the last one that was looked at
	ended bool  // it is absent or released, so nobody needs its successor to know how it ended

	spent map[Token]bool // taken by writing and released by this keeper, so they need not be read
	kept  []Token        // that say something, ascending
}

func newSweeper() sweeper { return sweeper{keep: ClaimsKept, ended: true, spent: make(map[Token]bool)} }

// note remembers a claim that was released here, until it is looked at.
func (w *sweeper) note(r *record.Record) {
	if r.Auto && r.Released && len(w.spent) < 2*sweepBehind {
		w.spent[r.FencingToken] = true
	}
}

// behind is how many claims may be looked at while t is the head.
func (w *sweeper) behind(t Token) int {
	n := len(w.todo)
	if t > w.next+w.keep {
		n += int(t - w.keep - w.next)
	}
	return n
}

// sweep removes a few claims while head is held. Nobody can be about to link a claim meanwhile (Keeper.sweeps), so no removed name is
// anybody's next token.
func (w *sweeper) sweep(s *Store, head Token) {
	if (!w.begun || w.jumped(head)) && !w.list(s, head) {
		return
	}
	n := sweepFew
	if w.behind(head) > sweepBehind {
		n = sweepMany
	}
	for ; n > 0; n-- {
		old, ok := w.pop(head)
		if !ok {
			return
		}
		w.look(s, old)
	}
}

// jumped is whether tokens were left out. A foreign tool has raised them, or [Store.Raise].
func (w *sweeper) jumped(head Token) bool { return len(w.todo) == 0 && w.behind(head) > sweepJump }

// list lists the claims that were not looked at.
func (w *sweeper) list(s *Store, head Token) bool {
	if head <= w.keep {
		return false
	}
	tokens, err := s.claims(w.next, head-w.keep)
	if err != nil {
		return false
	}
	w.begun, w.todo, w.next = true, tokens, head-w.keep+1
	return true
}

// pop is the next claim to look at.
func (w *sweeper) pop(head Token) (Token, bool) {
	if len(w.todo) > 0 {
		t := w.todo[0]
		w.todo = w.todo[1:]
		return t, true
	}
	if w.next+w.keep > head {
		return 0, false
	}
	w.next++
	return w.next - 1, true
}

// look removes the claim t if it says nothing. It removes the oldest of those that say something if [Store.Past] does not read so far
// back. It goes from the oldest to the newest, so if a claim is gone, the one before it is gone, too.
func (w *sweeper) look(s *Store, t Token) {
	free := w.last+1 != t || w.ended
	w.last = t
	released, auto := w.spent[t], true
	if delete(w.spent, t); !released {
		h := s.readRecordFile(s.claimName(t))
		switch {
		case errors.Is(h.Unreadable, os.ErrNotExist):
			w.ended = true
			return
		case h.Record == nil || h.Record.FencingToken != t:
			w.ended = false // it cannot be read, so a person has to look at it
			return
		}
		released, auto = h.Record.Released, h.Record.Auto
	}
	w.ended = released
	if free && released && auto {
		s.removeClaim(t)
		return
	}
	if w.kept = append(w.kept, t); len(w.kept)+int(w.keep) > PastKept {
		s.removeClaim(w.kept[0])
		w.kept = w.kept[1:]
	}
}

// removeClaim does not wait for the disk: if the claim comes back after a crash, it is swept again.
func (s *Store) removeClaim(t Token) {
	_ = disk("sweep.unlink", func() error { return unix.Unlinkat(s.dir.fd, s.claimName(t), 0) }) // an error costs a longer listing, no more
}
