package wait

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
)

// Retries are the callers whose call was answered with ESTALE, by thread id. Then the kernel walks the path once more
// (retry_estale in fs/namei.c), and asks for names or attributes on the way without a lock. There the caller waits
// (Arrive), and then makes the call again (Return). The zero value is ready. Safe for concurrent use.
type Retries[W any] struct {
	away    atomic.Int64 // how many have not yet come to where they wait
	windows atomic.Int64 // how many were sent for a window, and have not yet made their call again

	mu  sync.Mutex
	all map[uint32]*sent[W]
}

// Retry is the wait of one such caller.
type Retry[W any] struct {
	Of     any // the guard of what it waits for, to be compared
	Until  time.Time
	Ticket *Ticket // its place in the queue; nil: it waits for the end of a window, which needs no turn
	Wait   W
}

// sent is one such caller.
type sent[W any] struct {
	Retry[W]
	came  bool      // it came to where it waits
	freed time.Time // when the window was over for which it waited there
}

const (
	// retriesMax bounds their number. Further callers wait where they are.
	retriesMax = 1024
	// retryKept is how long a caller that has waited long enough may take to make its call.
	retryKept = time.Second
	// returnPause is the pause between two looks for callers that make their call again.
	returnPause = time.Millisecond
)

// Send notes that a caller's call is answered with ESTALE. It returns false if that is impossible, or was done before.
func (s *Retries[W]) Send(tid uint32, r Retry[W]) bool {
	if tid == 0 { // unknown, so it would not be recognised
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint32]*sent[W])
	}
	if s.all[tid] != nil || len(s.all) >= retriesMax {
		s.madeAgain(tid)
		return false
	}
	s.all[tid] = &sent[W]{Retry: r}
	s.away.Add(1)
	if r.Ticket == nil {
		s.windows.Add(1)
	}
	time.AfterFunc(time.Until(r.Until)+2*retryKept, s.forgetOld)
	return true
}

// Away reports whether callers are on the way to where they wait. They get there only if the kernel has to ask.
func (s *Retries[W]) Away() bool { return s.away.Load() > 0 }

// Arrive returns the wait of a caller that has come to where it waits, once.
func (s *Retries[W]) Arrive(tid uint32) (w W, ok bool) {
	if s.away.Load() == 0 || tid == 0 {
		return w, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.all[tid]
	if r == nil || r.came {
		return w, false
	}
	s.came(r)
	return r.Wait, true
}

// Return is what becomes of a caller that meets a conflict with a guard. If it makes its call again, once more says
// whether the answer may not be ESTALE again. With ok it goes on with its wait in its old place: it did not come to
// where it should wait, or it has waited long enough.
func (s *Retries[W]) Return(tid uint32, of any) (w W, ok, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.all[tid]
	switch {
	case r != nil && r.Ticket == nil: // it has waited for a window, and meets a conflict now
		s.forget(tid, r)
		return w, false, true
	case r == nil || r.Of != of:
		return w, false, false
	case !r.came:
		s.came(r)
	case time.Now().Before(r.Until): // it had its turn, and lost the lease since
		return w, false, false
	default: // it has waited long enough
		s.forget(tid, r)
	}
	return r.Wait, true, true
}

// Passed notes that a caller that was sent for a window has made its call again.
func (s *Retries[W]) Passed(tid uint32) {
	if s.windows.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.madeAgain(tid)
}

// madeAgain forgets a caller that was sent for a window: it makes its call again. Under mu.
func (s *Retries[W]) madeAgain(tid uint32) {
	if r := s.all[tid]; r != nil && r.Ticket == nil {
		s.forget(tid, r)
	}
}

// Freed notes that a caller has waited for a window, and makes its call again now.
func (s *Retries[W]) Freed(tid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.all[tid]; r != nil {
		r.freed = time.Now()
	}
}

// LetReturn waits for those who waited for a window of a guard. Otherwise they would wait for the next one where they
// are, with a directory locked: they cannot be sent a second time. The wait is short.
func (s *Retries[W]) LetReturn(ctx context.Context, of any) {
	ctx, cancel := context.WithTimeout(ctx, retryKept)
	defer cancel()
	for pause := NewBackoff(returnPause, returnPause); s.returning(of); {
		if For(ctx, pause.Over()) != nil {
			return
		}
	}
}

// returning reports whether callers are about to make the call again that waited for a window of the guard.
func (s *Retries[W]) returning(of any) bool {
	if s.windows.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tid, r := range s.all {
		if r.Ticket != nil || r.Of != of || !r.freed.IsZero() && time.Since(r.freed) > retryKept {
			continue
		}
		if _, err := process.ReadStat(int(tid)); err == nil {
			return true
		}
		s.forget(tid, r)
	}
	return false
}

// forget takes a caller out. Under mu.
func (s *Retries[W]) forget(tid uint32, r *sent[W]) {
	if !r.came {
		s.came(r)
	}
	if r.Ticket == nil {
		s.windows.Add(-1)
	}
	delete(s.all, tid)
}

func (s *Retries[W]) came(r *sent[W]) {
	r.came = true
	s.away.Add(-1)
}

// forgetOld drops the callers that do not come back: they were killed on the way, or have had their turn.
func (s *Retries[W]) forgetOld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for tid, r := range s.all {
		if now.Before(r.Until.Add(retryKept)) {
			continue
		}
		if !r.came && r.Ticket != nil {
			r.Ticket.Leave()
		}
		s.forget(tid, r)
	}
}
