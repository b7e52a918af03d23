package lease

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// successor looks for a higher claim, or a foreign view above ours. If it finds one, the error's class is [ClassLockNotHeld].
//
// It looks at the next token's name each time. Takers make that name, and a store that caches attributes shows a new name at once.
// There may be a name further up without it: a taker went on above a foreign view, or somebody removed the name between. So successor
// also lists the directory, if its stamps have changed since a listing that found nothing. While one holder writes they do not
// change, for renewals write in place. The price is two stats. A name further up is seen as late as the store's stamps are old. A
// change without a stamp (a foreign view rewritten in place) is seen by the next renewal, which always lists.
func (c *claim) successor() (found bool, err error) {
	if found, err := c.next(); found || err != nil {
		return found, err
	}
	stamp, now := c.store.stamp("."), systemClock{}.Boot()
	if c.above.spares(stamp, now, c.viewIsOwn) {
		return false, nil
	}
	return c.above.unlessStill(stamp, now, c.anywhere)
}

// viewIsOwn is whether the view is the own claim.
func (c *claim) viewIsOwn() bool {
	id, err := c.store.lookup(c.store.viewName())
	return err == nil && id == c.file
}

// successorAnywhere is successor, but always lists the directory.
func (c *claim) successorAnywhere() (found bool, err error) {
	if found, err := c.next(); found || err != nil {
		return found, err
	}
	return c.anywhere()
}

// next looks for the claim of the next token.
func (c *claim) next() (found bool, err error) {
	if _, err := c.store.lookup(c.store.claimName(c.rec.FencingToken + 1)); err == nil {
		return true, c.superseded(c.rec.FencingToken + 1)
	} else if !errors.Is(err, os.ErrNotExist) {
		return false, c.store.failed("a successor cannot be looked for", c.name(), err)
	}
	return false, nil
}

// anywhere lists the directory and reads the view.
func (c *claim) anywhere() (found bool, err error) {
	top, err := c.store.highest()
	if err != nil {
		return false, err
	}
	if v := c.store.readView(); v.Record != nil {
		top = max(top, v.Record.FencingToken)
	}
	if top > c.rec.FencingToken {
		return true, c.superseded(top)
	}
	return false, nil
}

func (c *claim) superseded(t Token) error {
	return &Error{Class: ClassLockNotHeld, Worktree: c.store.id, File: c.store.display(c.store.claimName(t)),
		Message: fmt.Sprintf("token %d was superseded by token %d", c.rec.FencingToken, t),
		Next:    "stop writing; acquire the lease again"}
}

// stillness saves listings of a directory whose stamps do not change. Safe for concurrent use.
type stillness struct {
	mu    sync.Mutex
	stamp stampOf
	since time.Duration // when this stamp was first seen, by our clock
	clear bool          // a listing that began after the stamp had settled found nothing
	empty time.Duration // when the latest listing under this stamp began that found nothing; 0: there was none
}

// spares is whether a look at the view may stand for a listing: on a store that stamps in whole seconds, right after a listing. A stamp that
// is not settled would have each look list for a second, which costs some eight requests instead of one. A successor has put its claim in
// the place of the view before its fence opens (rule 2). So while the view is the own claim, nobody's has opened, and nothing that was
// done before is late. What is no successor yet is found by the next listing, racy later.
func (s *stillness) spares(stamp stampOf, now time.Duration, viewIsOwn func() bool) bool {
	s.mu.Lock()
	listed := s.stamp == stamp && !s.clear && s.empty != 0 && now-s.empty < racy
	s.mu.Unlock()
	return listed && stamp.window() > racy && viewIsOwn()
}

// unlessStill calls list, unless a listing under the same stamp has found nothing before. Such a listing counts only if it began long
// enough after the stamp was first seen: file systems stamp with the timer tick, or in whole seconds, so a second change within that leaves
// no trace (window).
// Both times are from our real clock, for the store may stamp by another host's. A stamp of zero could not be read, and never counts.
func (s *stillness) unlessStill(stamp stampOf, now time.Duration, list func() (bool, error)) (bool, error) {
	s.mu.Lock()
	if s.stamp != stamp {
		s.stamp, s.since, s.clear, s.empty = stamp, now, false, 0
	}
	still, settled := s.clear, now-s.since >= stamp.window()
	s.mu.Unlock()
	if still {
		return false, nil
	}
	found, err := list()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stamp == stamp && stamp != (stampOf{}) && !found && err == nil {
		s.clear, s.empty = s.clear || settled, now
	}
	return found, err
}
