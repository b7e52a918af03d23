package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
)

// rounds holds the callers that were sent round, by thread id. Safe for concurrent use.
type rounds struct {
	away   atomic.Int64 // how many have not yet come to where they wait
	thawed atomic.Int64 // how many were sent for a window (Window), and have not yet made their call again

	mu  sync.Mutex
	all map[uint32]*round
}

// round is one such caller.
type round struct {
	*wait
	came bool // it came to where it waits
	// freed is when the window was over for which it waited there.
	freed time.Time
}

// roundsMax bounds their number. Further callers wait where they are.
const roundsMax = 1024

// send notes that a caller is sent round. It returns false if that is impossible, or was done before.
func (s *rounds) send(tid uint32, w *wait) bool {
	if tid == 0 { // unknown, so it would not be recognised
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint32]*round)
	}
	if s.all[tid] != nil || len(s.all) >= roundsMax {
		s.comesAgain(tid)
		return false
	}
	s.all[tid] = &round{wait: w}
	s.away.Add(1)
	if w.freeze != nil {
		s.thawed.Add(1)
	}
	time.AfterFunc(time.Until(w.until)+2*roundKept, s.forgetOld)
	return true
}

// take returns the wait of a caller that has come to where it waits, once.
func (s *rounds) take(tid uint32) *wait {
	if s.away.Load() == 0 || tid == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.all[tid]
	if r == nil || r.came {
		return nil
	}
	s.came(r)
	return r.wait
}

// back returns the wait of a caller that makes its call again. A caller that did not come to where
// it should wait now waits where it is, in its old place. A caller that has waited long enough waits
// no longer.
func (s *rounds) back(tid uint32, g *Guard) *wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.all[tid]
	switch {
	case r != nil && r.freeze != nil: // it has waited for a window, and meets a conflict now
		s.forget(tid, r)
		return g.newWait(r.op)
	case r == nil || r.guard != g:
		return nil
	case !r.came:
		s.came(r)
	case time.Now().Before(r.until): // it had its turn, and lost the lease since
		return nil
	default: // it has waited long enough
		s.forget(tid, r)
	}
	return r.wait
}

// arrived notes that a caller that was sent for a window has made its call again.
func (s *rounds) arrived(tid uint32) {
	if s.thawed.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comesAgain(tid)
}

// comesAgain forgets a caller that was sent for a window: it makes its call again. Under mu.
func (s *rounds) comesAgain(tid uint32) {
	if r := s.all[tid]; r != nil && r.freeze != nil {
		s.forget(tid, r)
	}
}

// free notes that a caller has waited for a window, and makes its call again now.
func (s *rounds) free(tid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.all[tid]; r != nil {
		r.freed = time.Now()
	}
}

// coming reports whether callers are about to make the call again that waited for a window of the guard. They
// cannot be sent round a second time.
func (s *rounds) coming(g *Guard) bool {
	if s.thawed.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tid, r := range s.all {
		if r.freeze == nil || r.guard != g || !r.freed.IsZero() && time.Since(r.freed) > roundKept {
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
func (s *rounds) forget(tid uint32, r *round) {
	if !r.came {
		s.came(r)
	}
	if r.freeze != nil {
		s.thawed.Add(-1)
	}
	delete(s.all, tid)
}

func (s *rounds) came(r *round) {
	r.came = true
	s.away.Add(-1)
}

// roundKept is how long a caller that has waited long enough may take to make its call.
const roundKept = time.Second

// forgetOld drops the callers that do not come back: they were killed on the way, or have had their turn.
func (s *rounds) forgetOld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for tid, r := range s.all {
		if now.Before(r.until.Add(roundKept)) {
			continue
		}
		if !r.came && r.turn != nil {
			r.turn.Leave()
		}
		s.forget(tid, r)
	}
}
