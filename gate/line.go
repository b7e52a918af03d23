package gate

import (
	"slices"
	"sync"
)

// Line holds those who wait for the lease of a worktree, in the order in which they asked: writers
// (GuardConfig.WaitOnConflict) and those who acquire on purpose. The first one that is here has the
// turn, and nobody else takes the lease meanwhile. Safe for concurrent use.
type Line struct {
	mu  sync.Mutex
	all []*Turn // in the order in which they asked
	now *Turn   // the one with the turn; nil: nobody is here
}

// Turn is a place in the line. Leave must follow.
type Turn struct {
	line *Line
	here bool
	come chan struct{} // closed when the turn has come
}

// Join takes the last place. Its owner is away until Stand.
func (l *Line) Join() *Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &Turn{line: l, come: make(chan struct{})}
	l.all = append(l.all, t)
	return t
}

// Busy reports whether anybody has a place in the line.
func (l *Line) Busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// Waiting returns how many wait in the line, those who are away not among them.
func (l *Line) Waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.all {
		if t.here {
			n++
		}
	}
	return n
}

// Stand says that the owner waits from now on, until Leave. The channel is closed when the turn has
// come.
func (t *Turn) Stand() <-chan struct{} {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.here = true
	t.line.advance()
	return t.come
}

// Leave gives the place up. It may be called more than once.
func (t *Turn) Leave() {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.line.all = slices.DeleteFunc(t.line.all, func(o *Turn) bool { return o == t })
	if t.line.now == t {
		t.line.now = nil
		t.line.advance()
	}
}

// Mine reports whether it is the owner's turn.
func (t *Turn) Mine() bool {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	return t.line.now == t
}

// advance gives the turn to the first one that is here, if nobody has it. Under mu.
func (l *Line) advance() {
	if l.now != nil {
		return
	}
	if i := slices.IndexFunc(l.all, func(t *Turn) bool { return t.here }); i >= 0 {
		l.now = l.all[i]
		close(l.now.come)
	}
}
