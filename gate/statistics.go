package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// statistics is what a guard counts.
type statistics struct {
	writes       atomic.Uint64
	exemptWrites atomic.Uint64
	refusals     atomic.Uint64
	wouldRefuse  atomic.Uint64
	refusedByWhy [reasonCount]atomic.Uint64 // without what would have been refused

	remembering sync.Mutex
	recent      ring
}

// remember keeps a refusal for Status.
func (s *statistics) remember(at time.Time, no *Refusal) {
	if !no.Observed {
		s.refusedByWhy[no.Reason].Add(1)
	}
	s.remembering.Lock()
	defer s.remembering.Unlock()
	s.recent.add(at, no)
}

// lastRefusals returns the latest refusals as lines for people, the oldest first.
func (s *statistics) lastRefusals() []string {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	return s.recent.lines()
}

// Refused returns how often each class of refusal occurred. Refusals that were only observed do not
// count.
func (s *statistics) Refused() map[lease.Class]uint64 {
	m := make(map[lease.Class]uint64)
	for why := range s.refusedByWhy {
		if n := s.refusedByWhy[why].Load(); n > 0 {
			m[verdicts[why].class] += n
		}
	}
	return m
}

// ring keeps the latest refusals, unformatted.
type ring struct {
	at   [8]time.Time
	what [8]*Refusal
	next int
}

func (r *ring) add(at time.Time, no *Refusal) {
	r.at[r.next], r.what[r.next] = at, no
	r.next = (r.next + 1) % len(r.what)
}

// lines returns the refusals as sentences, oldest first.
func (r *ring) lines() []string {
	var out []string
	for i := range r.what {
		k := (r.next + i) % len(r.what)
		if no := r.what[k]; no != nil {
			what := no.Op.String()
			if no.Observed {
				what += " would be refused"
			}
			out = append(out, r.at[k].UTC().Format(time.RFC3339)+" "+what+": "+no.Error())
		}
	}
	return out
}
