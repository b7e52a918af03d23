package refusals

import (
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

const (
	// historyShards separate writers. No lock is shared by all of them, and a writer that is refused in a loop
	// does not push out the refusals of others.
	historyShards = 16
	historyDepth  = 64 // kinds that a shard remembers; 1024 in all
)

// history remembers the latest refusals of a mount and their writers, so that "my command just failed,
// why?" has an answer after the command has ended. A refusal that repeats a recent one costs a lock, a map
// lookup and a count. Nothing is formatted before somebody asks. Safe for concurrent use.
type history struct {
	lookUp func(process.Caller) Writer
	now    func() time.Time
	fresh  func(Fresh) // told of those that repeat no recent one; may be nil, never blocks
	shards [historyShards]historyShard
}

func newHistory(lookUp func(process.Caller) Writer) *history {
	return &history{lookUp: lookUp, now: time.Now}
}

// alike is the key under which equal refusals are counted. The thread stands for the process, because the
// process is known only after a lookup.
type alike struct {
	tid, uid uint32
	worktree lease.WorktreeID
	op       gate.Op
	class    lease.Class
	observed bool
}

// event counts the equal refusals of one thread within a second.
type event struct {
	kind        alike
	who         Writer
	first, last time.Time
	count       uint64
	latest      *gate.Refusal
}

// Fresh is a refusal that repeats no recent one. Nothing is formatted before somebody asks.
type Fresh struct {
	*gate.Refusal
	At    time.Time
	Count uint64 // of the equal refusals that it stands for
	who   Writer
}

// Visible reports whether a user may see it: root sees all, others see those of their own processes.
func (f *Fresh) Visible(uid uint32) bool { return uid == 0 || uid == f.Caller.UID }

// View words it.
func (f *Fresh) View(at func(lease.WorktreeID) string) api.RefusalView {
	e := event{kind: kindOf(f.Refusal), who: f.who, last: f.At, count: f.Count, latest: f.Refusal}
	return e.view(at)
}

// historyShard is a ring of events, with an index of those that may still grow.
type historyShard struct {
	mu      sync.Mutex
	ring    [historyDepth]*event
	next    int
	growing map[alike]*event
	lost    time.Time // the time of the latest event that was pushed out
}

// note remembers a refusal. The request calls it: the caller waits for its answer, so its process can still be
// looked at. That is done only for the first of a kind.
func (h *history) note(no *gate.Refusal) {
	kind := kindOf(no)
	s := &h.shards[no.Caller.TID%historyShards]
	now := h.now()
	if s.again(kind, no, now) {
		return
	}
	e := &event{kind: kind, who: h.lookUp(no.Caller), first: now, last: now, count: 1, latest: no}
	untold := s.add(e)
	if h.fresh != nil {
		h.fresh(Fresh{Refusal: no, At: now, Count: untold + 1, who: e.who})
	}
}

func kindOf(no *gate.Refusal) alike {
	return alike{no.Caller.TID, no.Caller.UID, no.Worktree, no.Op, no.Class(), no.Observed}
}

// again counts a refusal that repeats a recent one.
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

// add remembers an event. untold counts the equal ones that came after the former event of its kind.
func (s *historyShard) add(e *event) (untold uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former := s.growing[e.kind]; former != nil {
		untold = former.count - 1
	}
	if s.growing == nil {
		s.growing = make(map[alike]*event, historyDepth)
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
	return untold
}

// since copies the events from a time on. complete is false if some of them were pushed out.
func (h *history) since(t time.Time) (events []event, complete bool) {
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
