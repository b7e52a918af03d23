package inotify

import (
	"sync"
	"time"
)

// waiting are the callers that wait until all events so far have been handled.
type waiting struct {
	mu  sync.Mutex
	all []chan struct{}
}

func (b *waiting) add() <-chan struct{} {
	done := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, done)
	return done
}

func (b *waiting) take() []chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.all
	b.all = nil
	return all
}

// CaughtUp returns when Next has told every event that the kernel has reported so far, or after limit.
func (c *Client) CaughtUp(limit time.Duration) {
	done := c.behind.add()
	if c.ready.interrupt() != nil {
		return // not serving any more
	}
	select {
	case c.hurry <- struct{}{}:
	default:
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-c.ended:
	}
}

// catchUp tells the events so far. A caller that comes after the deadline was cleared sets it again.
func (c *Client) catchUp(tell func(Event) (calm bool)) {
	c.ready.resume()
	waiting := c.behind.take()
	for {
		n, err := c.some()
		if err != nil || n <= 0 {
			break
		}
		each(c.buf[:n], tell)
	}
	for _, done := range waiting {
		close(done)
	}
}
