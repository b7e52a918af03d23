package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// answeredEvents bounds one answer.
const answeredEvents = 256

// answerEvents answers with the events that the client has not seen, and waits for one if there is none. Every
// user sees leases and modes, as in status; refusals are for root and for the refused user.
func (d *Daemon) answerEvents(ctx context.Context, s *session, req api.Events) (api.Response, error) {
	since, locks := req.Since, req.LocksSince
	if req.Run != "" && req.Run != d.events.run {
		since, locks = 0, 0 // it has seen nothing of this daemon
	}
	if req.Latest {
		since, locks = d.events.latest(), d.ruleTold.traffic.latest()
	}
	timer := time.NewTimer(time.Duration(req.WaitMS) * time.Millisecond)
	defer timer.Stop()
	a := api.EventsAnswer{Run: d.events.run, Next: since, LocksNext: locks, Self: processText(host.ThisProcess())}
	if old := d.succession.replaced; old != nil {
		a.After = processText(old.Daemon, nil)
	}
	for {
		more := d.collectEvents(&a, s.peer.UID)
		var moreLocks <-chan struct{}
		if req.Locks {
			moreLocks = d.ruleTold.collect(&a, d.wordedEvent)
		}
		some := len(a.Events)+len(a.Locks) > 0 && !d.registry.ended() // at the end of the daemon all come at once, for there is no next request
		if some || a.Over || req.Latest {
			return api.ResultOf(a)
		}
		select {
		case <-more:
			continue
		case <-moreLocks:
			continue
		case <-timer.C:
		case <-ctx.Done(): // the client has hung up, or the daemon has told its last
			for before := a.Next; ; before = a.Next {
				if d.collectEvents(&a, s.peer.UID); a.Over || a.Next == before {
					break
				}
			}
			if req.Locks {
				d.ruleTold.collect(&a, d.wordedEvent)
			}
		}
		return api.ResultOf(a)
	}
}

// processText tells one daemon from another.
func processText(p host.ProcessState, err error) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.PID, p.Start)
}

// collectEvents adds the events from a.Next on that user uid may see. more is closed when there are more.
func (d *mount) collectEvents(a *api.EventsAnswer, uid uint32) (more <-chan struct{}) {
	for {
		l := d.events.after(a.Next, answeredEvents)
		if l.first != 0 && len(a.Events) > 0 {
			return l.more // the next answer says what is missing between
		}
		if l.first != 0 {
			a.First = l.first
		}
		for _, n := range l.events {
			if n.refusal == nil || uid == 0 || uid == n.who.uid {
				a.Events = append(a.Events, d.wordedEvent(n))
			}
		}
		a.Next, a.Over = l.next, l.over
		if len(a.Events) > 0 || len(l.events) == 0 {
			return l.more
		} // else they were not for this reader
	}
}

// wordedEvent completes an event for a reader.
func (d *mount) wordedEvent(n noted) api.Event {
	e := n.Event
	e.At, e.Mountpoint, e.Reason = e.At.UTC(), d.mountpoint(), human.Printable(e.Reason)
	if no := n.refusal; no != nil {
		r := refusalEvent{kind: kindOf(no), who: n.who, first: e.At, last: e.At, count: n.count, latest: no}
		view := r.view(d.pathOf)
		e.Refusal, e.Worktree, e.Token = &view, view.Worktree, no.Token
		if no.Holder.Host != "" {
			e.Holder = gate.ViewOf(no.Holder, no.Token)
		}
	}
	switch {
	case e.Lock != nil:
		e.Path = d.below(e.Lock.Lock)
	case e.Window != nil:
		e.Path = d.below(e.Window.Path)
	}
	if e.Worktree != "" {
		e.Path = d.pathOf(lease.WorktreeID(e.Worktree))
	}
	return e
}

// noteSwitch tells that the mode was switched.
func (d *mount) noteSwitch(from, to gate.Enforce, by string) {
	d.events.note(noted{Event: api.Event{Kind: api.ModeSwitched, Enforce: to, EnforcePrevious: from, By: by}})
}

// tellRefusal tells a refusal that repeats no recent one. count has those that it stands for.
func (r *eventRing) tellRefusal(e *refusalEvent, count uint64) {
	kind := api.Refused
	if e.kind.observed {
		kind = api.WouldRefuse
	}
	r.note(noted{Event: api.Event{Kind: kind, At: e.first}, refusal: e.latest, who: e.who, count: count})
}
