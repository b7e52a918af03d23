package daemon

import (
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

const (
	// historyShards keep writers apart: no lock is shared by all of them, and one that
	// is refused in a loop does not push out what others were refused.
	historyShards = 16
	historyDepth  = 64 // kinds that a shard remembers; 1024 in all
)

// refusalHistory remembers the latest refusals of a mount with who was refused, so
// that "my command just failed, why?" has an answer when the command has ended.
// A refusal like one a moment ago costs a lock, a look into a map and a count;
// nothing is formatted before somebody asks. Safe for concurrent use.
type refusalHistory struct {
	lookUp func(gate.Caller) writer
	now    func() time.Time
	shards [historyShards]historyShard
}

func newRefusalHistory(lookUp func(gate.Caller) writer) *refusalHistory {
	return &refusalHistory{lookUp: lookUp, now: time.Now}
}

// alike is what refusals are told apart by. The thread stands for the process, which
// is not known before it is looked up.
type alike struct {
	tid, uid uint32
	worktree lease.WorktreeID
	op       gate.Op
	class    lease.Class
	observed bool
}

// refusalEvent is what one thread was refused within a second.
type refusalEvent struct {
	kind        alike
	who         writer
	first, last time.Time
	count       uint64
	latest      *gate.Refusal
}

// historyShard is a ring of events, and the way to those that may still grow.
type historyShard struct {
	mu      sync.Mutex
	ring    [historyDepth]*refusalEvent
	next    int
	growing map[alike]*refusalEvent
	lost    time.Time // when the latest happened that had to make room
}

// note remembers a refusal. It is called in the request: the caller waits for its
// answer, so that it is there to be looked at. Only the first of a kind is.
func (h *refusalHistory) note(no *gate.Refusal) {
	kind := alike{no.Caller.TID, no.Caller.UID, no.Worktree, no.Op, no.Class(), no.Observed}
	s := &h.shards[no.Caller.TID%historyShards]
	now := h.now()
	if s.again(kind, no, now) {
		return
	}
	s.add(&refusalEvent{kind: kind, who: h.lookUp(no.Caller), first: now, last: now, count: 1, latest: no})
}

// again counts a refusal like one of a moment ago.
func (s *historyShard) again(kind alike, no *gate.Refusal, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.growing[kind]
	if e == nil || now.Sub(e.first) >= api.AlikeWithin {
		return false
	}
	e.last, e.latest = now, no
	e.count++
	return true
}

func (s *historyShard) add(e *refusalEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.growing == nil {
		s.growing = make(map[alike]*refusalEvent, historyDepth)
	}
	if old := s.ring[s.next]; old != nil {
		s.lost = old.last
		if s.growing[old.kind] == old {
			delete(s.growing, old.kind)
		}
	}
	s.ring[s.next] = e
	s.next = (s.next + 1) % historyDepth
	s.growing[e.kind] = e
}

// since copies the events that happened at or after a time. complete is false when
// some of them had to make room for others.
func (h *refusalHistory) since(t time.Time) (events []refusalEvent, complete bool) {
	complete = true
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		complete = complete && (s.lost.IsZero() || s.lost.Before(t))
		for _, e := range s.ring {
			if e != nil && !e.last.Before(t) {
				events = append(events, *e)
			}
		}
		s.mu.Unlock()
	}
	return events, complete
}
