package lease

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// successor looks for a higher claim or a foreign view above ours. The class of a found one is [ClassLockNotHeld].
//
// The next token's name is looked at each time: it is the one that takers make, and a store that caches attributes still shows a
// new name at once. But a name further up can be there without it (a foreign view was continued above, or somebody removed the
// one between), so the rest of the directory is listed too, whenever its stamps have moved since a listing that found nothing.
// While one holder writes they stand still: renewals write in place. The price is two stats, and the gap in the names is seen as
// late as the store lets stamps be old. What changes without a stamp (a foreign view rewritten in place) is seen by the
// next renewal, which lists whatever the stamps say.
func (c *claim) successor() (found bool, err error) {
	if found, err := c.next(); found || err != nil {
		return found, err
	}
	return c.above.unlessStill(c.store.stamp("."), systemClock{}.Boot(), c.anywhere)
}

// successorAnywhere is successor at the price of listing the directory each time.
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

// stillness saves listings of a directory whose stamps do not move. Safe for concurrent use.
type stillness struct {
	mu    sync.Mutex
	stamp stampOf
	since time.Duration // the local time at which this stamp was first seen
	clear bool          // a listing begun after the stamp had settled found nothing
}

// unlessStill calls list, unless a listing under the same stamp has found nothing before. Such a listing counts only when it began
// long enough after the stamp was first seen: file systems stamp with the timer tick, so a second change within one tick leaves no
// trace. Both times are ours, on the real clock whatever is injected: the store may stamp by another host's. A stamp of zero could
// not be read and is never still.
func (s *stillness) unlessStill(stamp stampOf, now time.Duration, list func() (bool, error)) (bool, error) {
	s.mu.Lock()
	if s.stamp != stamp {
		s.stamp, s.since, s.clear = stamp, now, false
	}
	still, settled := s.clear, now-s.since >= racy
	s.mu.Unlock()
	if still {
		return false, nil
	}
	found, err := list()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stamp == stamp && stamp != (stampOf{}) && settled && !found && err == nil {
		s.clear = true
	}
	return found, err
}
