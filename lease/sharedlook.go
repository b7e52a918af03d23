package lease

import (
	"errors"
	"sync"
)

// sharedLook lets one look at the store answer many who ask (rule 10). Who asks has changed something before, and must learn whether a
// successor was there by then. So a look serves everybody who asked before it began. One that is under way serves nobody who comes now:
// it may have passed the place where the successor's claim appeared a moment later. Safe for concurrent use; the zero value is ready.
//
// Nobody waits for longer than the rest of one look and another. Who is alone looks at once.
type sharedLook struct {
	mu   sync.Mutex
	now  *lookRound // its look is under way
	next *lookRound // its look has not begun: who comes now may join
}

// lookRound is one look and those whom it serves. Who makes the round looks for all of them.
type lookRound struct {
	done chan struct{}
	err  error // set before done is closed
}

// errNoAnswer is that of a look that did not return.
var errNoAnswer = errors.New("the look for a successor has no answer")

// ask returns the answer of a look that begins after the call.
func (s *sharedLook) ask(look func() error) error {
	s.mu.Lock()
	if r := s.next; r != nil {
		s.mu.Unlock()
		<-r.done
		return r.err
	}
	r, before := &lookRound{done: make(chan struct{}), err: errNoAnswer}, s.now
	if before != nil {
		s.next = r
		s.mu.Unlock()
		<-before.done
		s.mu.Lock()
		s.next = nil // from here on nobody joins
	}
	s.now = r
	s.mu.Unlock()
	defer s.ended(r)
	r.err = look()
	return r.err
}

// ended lets those go on whom a round served, and the next round begin.
func (s *sharedLook) ended(r *lookRound) {
	s.mu.Lock()
	s.now = nil
	s.mu.Unlock()
	close(r.done)
}
