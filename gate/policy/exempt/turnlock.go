package exempt

import (
	"slices"
	"sync"
)

// turnLock is a sync.RWMutex whose waiters can give up. They get their turns in the order in which
// they came, so nobody starves.
type turnLock struct {
	mu     sync.Mutex
	shared int
	alone  bool
	line   []*lockTurn
}

type lockTurn struct {
	alone bool
	come  chan struct{}
}

// try takes the lock if that needs no wait.
func (l *turnLock) try(alone bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.line) == 0 && l.grant(alone)
}

// lock waits for the lock until off is closed. It reports whether it has taken it.
func (l *turnLock) lock(alone bool, off <-chan struct{}) bool {
	l.mu.Lock()
	if len(l.line) == 0 && l.grant(alone) {
		l.mu.Unlock()
		return true
	}
	t := &lockTurn{alone, make(chan struct{})}
	l.line = append(l.line, t)
	l.mu.Unlock()
	select {
	case <-t.come:
		return true
	case <-off:
		return !l.leave(t)
	}
}

// leave takes a waiter out of the line. It returns false if its turn has come already.
func (l *turnLock) leave(t *lockTurn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.line, t)
	if i < 0 {
		return false
	}
	l.line = slices.Delete(l.line, i, i+1)
	l.advance() // those behind it may have waited for it alone
	return true
}

func (l *turnLock) unlock(alone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if alone {
		l.alone = false
	} else {
		l.shared--
	}
	l.advance()
}

// advance gives the lock to the first in the line who can have it. The caller has mu.
func (l *turnLock) advance() {
	for len(l.line) > 0 && l.grant(l.line[0].alone) {
		close(l.line[0].come)
		l.line = l.line[1:]
	}
}

// grant takes the lock if nobody has it who is in the way. The caller has mu.
func (l *turnLock) grant(alone bool) bool {
	if l.alone || alone && l.shared > 0 {
		return false
	}
	if alone {
		l.alone = true
	} else {
		l.shared++
	}
	return true
}
