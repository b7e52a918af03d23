package fusefs

import (
	"sync"
	"time"
)

// waitingFor are the callers that wait until all events so far have been handled.
type waitingFor struct {
	mu  sync.Mutex
	all []chan struct{}
}

func (b *waitingFor) add() <-chan struct{} {
	done := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, done)
	return done
}

func (b *waitingFor) take() []chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.all
	b.all = nil
	return all
}

// caughtUp returns when the kernel knows every change behind the mount that inotify has reported so
// far, or after limit. The wait is bounded because the kernel may have a directory locked. After
// limit its caches have expired anyway.
func (w *watcher) caughtUp(limit time.Duration) {
	if w.file == nil {
		return
	}
	done := w.behind.add()
	if w.told.interrupt() != nil {
		return // not serving any more
	}
	select {
	case w.hurry <- struct{}{}:
	default:
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-w.ended:
	}
}

// catchUp reads the events so far. A caller that comes after the deadline was cleared sets it
// again.
func (w *watcher) catchUp(f *rawFS, buf []byte) {
	w.told.resume()
	waiting := w.behind.take()
	for {
		n, err := w.some(buf)
		if err != nil || n <= 0 {
			break
		}
		w.events(f, buf[:n])
	}
	for _, done := range waiting {
		close(done)
	}
}
