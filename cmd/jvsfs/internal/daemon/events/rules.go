package events

import (
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// rules tells what becomes of the lock files of rules, and of maintenance windows. That a lock is taken and
// released is what programs do a hundred times a second: it would drive all else out of the ring. So it has a ring of
// its own, which is filled only while somebody reads it.
type rules struct {
	ring    *ring
	traffic *ring
	wanted  atomic.Int64 // until when (Unix nanoseconds) somebody reads the traffic
}

// trafficWanted is longer than the longest pause between two requests of a reader.
const trafficWanted = 2 * api.MaxEventsWait

var ruleKinds = map[tenure.EventKind]api.EventKind{
	tenure.Taken: api.RuleTaken, tenure.Released: api.RuleReleased, tenure.Broken: api.RuleBroken, tenure.HolderGone: api.RuleHolderGone,
	tenure.Removed: api.RuleRemoved, tenure.Stays: api.RuleStays, tenure.Unseen: api.RuleUnknown, tenure.Bypassed: api.RuleBypassed,
	tenure.WindowOpened: api.WindowOpened, tenure.WindowClosed: api.WindowClosed,
}

// note notes an event. The request calls it, so it does not block.
func (r *rules) note(e tenure.Event) {
	ring := r.ring
	if e.Kind == tenure.Taken || e.Kind == tenure.Released {
		if time.Now().UnixNano() > r.wanted.Load() {
			return
		}
		ring = r.traffic
	}
	ring.note(noted{Event: ruleEvent(e)})
}

func ruleEvent(e tenure.Event) api.Event {
	to := api.Event{Kind: ruleKinds[e.Kind], Reason: string(e.How)}
	if e.Err != nil {
		to.Reason = e.Err.Error()
	}
	if e.Window != nil {
		to.Window, to.Holder = e.Window, e.Window.Holder
		return to
	}
	to.Lock = &api.RuleLock{Rule: e.Lock.Rule.Name, ID: e.Lock.ID(), Lock: e.Lock.Path, Tenure: e.Number, ByPID: int(e.By.TID)}
	if e.Number != 0 {
		to.Holder = gate.ViewOf(e.Holder, 0)
	}
	return to
}

// collect adds the locks that were taken and released from a.LocksNext on. more is closed when there are more.
func (r *rules) collect(a *api.EventsAnswer, worded func(noted) api.Event) (more <-chan struct{}) {
	r.wanted.Store(time.Now().Add(trafficWanted).UnixNano())
	l := r.traffic.after(a.LocksNext, mostAnswered)
	if l.first != 0 {
		a.LocksMissed += l.first - 1 - a.LocksNext
	}
	for _, n := range l.events {
		e := worded(n)
		e.Run, e.Seq = "", 0 // numbers of another ring
		a.Locks = append(a.Locks, e)
	}
	a.LocksNext = l.next
	return l.more
}
