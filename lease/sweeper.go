package lease

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ClaimsKept is how many of the newest claims are there in any case: who reads the records finds how the latest leases ended.
const ClaimsKept = 64

const (
	// A look at a claim and its removal cost some 50 µs, for which a writer may have to wait: so few at a time, and more where many
	// have been left by a version that did not sweep.
	sweepFew, sweepMany = 4, 32
	sweepBehind         = 256
	sweepJump           = 4096 // tokens behind: numbers were left out, so what is there is listed anew instead of counting through
	sweepPause          = 10 * time.Millisecond
)

// sweeper removes claims that say nothing to anybody any more, so that a listing of the lock directory, which a writer waits for when
// a lease passes on, does not cost the more the more tokens were used (rule 15). Only with op.
type sweeper struct {
	keep  Token // ClaimsKept
	begun bool
	todo  []Token // what a listing found, ascending
	next  Token   // the first token after those that was not looked at

	last  Token // that was looked at
	ended bool  // it is absent or released, so how it ended does not hang on its successor

	spent map[Token]bool // taken by writing and released by this keeper: they need not be read
	kept  []Token        // that say something, ascending
}

func newSweeper() sweeper { return sweeper{keep: ClaimsKept, ended: true, spent: make(map[Token]bool)} }

// note tells of a claim that was released here. The map holds what was not looked at yet.
func (w *sweeper) note(r *Record) {
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

// sweep removes a few claims while head is held. Nobody can be about to link a claim meanwhile (see sweeps), so no name that somebody
// means to be new comes free.
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

// jumped is whether tokens were left out: a tool without these rules, or records of another place, raised them.
func (w *sweeper) jumped(head Token) bool { return len(w.todo) == 0 && w.behind(head) > sweepJump }

// list looks for what is there and was not looked at.
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

// look removes the claim t if it says nothing, and the oldest of those that say something if nobody looks back that far. It goes from
// the oldest to the newest, and readers the other way: who does not find a claim does not find the one before it either.
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
			w.ended = false // what cannot be read is left for a person to look at
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

// removeClaim is not waited for on the disk: a claim that comes back is one more that says nothing.
func (s *Store) removeClaim(t Token) {
	_ = disk("sweep.unlink", func() error { return unix.Unlinkat(s.dir.fd, s.claimName(t), 0) }) // a longer listing is all that it costs
}
