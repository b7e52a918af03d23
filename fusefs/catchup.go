package fusefs

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waitingFor are those who wait until the events that have come so far have been handled.
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

// caughtUp returns when the kernel has been told of every change behind the mount that
// inotify knows of by now, or after a time: the kernel may hold a directory locked, and
// what it believes has ended by itself then.
func (w *watcher) caughtUp(limit time.Duration) {
	if w.file == nil {
		return
	}
	done := w.behind.add()
	if w.file.SetReadDeadline(time.Now()) != nil {
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

// catchUp reads what has come so far. Who asks after the deadline was taken back sets it
// anew.
func (w *watcher) catchUp(f *rawFS, buf []byte) {
	_ = w.file.SetReadDeadline(time.Time{}) // fails for a closed file, which the next read says
	waiting := w.behind.take()
	for {
		n, err := w.control(func(fd int) (int, error) { return retryInt(func() (int, error) { return unix.Read(fd, buf) }) })
		if err != nil || n <= 0 {
			break
		}
		w.events(f, buf[:n])
	}
	for _, done := range waiting {
		close(done)
	}
}
