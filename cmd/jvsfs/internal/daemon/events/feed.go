package events

import (
	"context"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// mostAnswered bounds one answer.
const mostAnswered = 256

// Names are the names of things in the mount, for who reads events.
type Names interface {
	Mountpoint() string
	PathOf(lease.WorktreeID) string
	Below(rel string) string // a path below the source, through the mount
}

// Feed is the events of a mount, and how readers come to them: leases, modes and refusals in one ring, lock files that programs take and
// give up in another. Safe for concurrent use.
type Feed struct {
	ring  *ring
	rules *rules
	names Names
	self  string      // tells this daemon from another
	ended func() bool // no request comes after the one that is answered
}

// New has no events yet. self tells this daemon from another. Once ended, readers are told all that is left in one answer.
func New(names Names, self string, ended func() bool) *Feed {
	ring := newRing()
	return &Feed{ring: ring, rules: &rules{ring: ring, traffic: newRing()}, names: names, self: self, ended: ended}
}

// End says that nothing more comes.
func (d *Feed) End() { d.ring.end() }

// Note adds an event.
func (d *Feed) Note(e api.Event) { d.ring.note(noted{Event: e}) }

// NoteLock adds what happened to a lock file, or to a maintenance window. It does not block.
func (d *Feed) NoteLock(e tenure.Event) { d.rules.note(e) }

// OfLease tells what becomes of the lease of one worktree.
func (d *Feed) OfLease(id lease.WorktreeID) *Lease { return &Lease{ring: d.ring, id: id} }

// Answer answers with the events that the client has not seen, and waits for one if there is none. Every
// user sees leases and modes, as in status; refusals are for root and for the refused user.
func (d *Feed) Answer(ctx context.Context, uid uint32, req api.Events, after string) (api.Response, error) {
	since, locks := req.Since, req.LocksSince
	if req.Run != "" && req.Run != d.ring.run {
		since, locks = 0, 0 // it has seen nothing of this daemon
	}
	if req.Latest {
		since, locks = d.ring.latest(), d.rules.traffic.latest()
	}
	timer := time.NewTimer(time.Duration(req.WaitMS) * time.Millisecond)
	defer timer.Stop()
	a := api.EventsAnswer{Run: d.ring.run, Next: since, LocksNext: locks, Self: d.self, After: after}
	for {
		more := d.collectEvents(&a, uid)
		var moreLocks <-chan struct{}
		if req.Locks {
			moreLocks = d.rules.collect(&a, d.wordedEvent)
		}
		some := len(a.Events)+len(a.Locks) > 0 && !d.ended() // at the end of the daemon all come at once, for there is no next request
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
				if d.collectEvents(&a, uid); a.Over || a.Next == before {
					break
				}
			}
			if req.Locks {
				d.rules.collect(&a, d.wordedEvent)
			}
		}
		return api.ResultOf(a)
	}
}

// collectEvents adds the events from a.Next on that user uid may see. more is closed when there are more.
func (d *Feed) collectEvents(a *api.EventsAnswer, uid uint32) (more <-chan struct{}) {
	for {
		l := d.ring.after(a.Next, mostAnswered)
		if l.first != 0 && len(a.Events) > 0 {
			return l.more // the next answer says what is missing between
		}
		if l.first != 0 {
			a.First = l.first
		}
		for _, n := range l.events {
			if n.refusal == nil || n.refusal.Visible(uid) {
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
func (d *Feed) wordedEvent(n noted) api.Event {
	e := n.Event
	e.At, e.Mountpoint, e.Reason = e.At.UTC(), d.names.Mountpoint(), human.Printable(e.Reason)
	if no := n.refusal; no != nil {
		view := no.View(d.names.PathOf)
		e.Refusal, e.Worktree, e.Token = &view, view.Worktree, no.Token
		if no.Holder.Host != "" {
			e.Holder = gate.ViewOf(no.Holder, no.Token)
		}
	}
	switch {
	case e.Lock != nil:
		e.Path = d.names.Below(e.Lock.Lock)
	case e.Window != nil:
		e.Path = d.names.Below(e.Window.Path)
	}
	if e.Worktree != "" {
		e.Path = d.names.PathOf(lease.WorktreeID(e.Worktree))
	}
	return e
}

// NoteRefusal tells a refusal that repeats no recent one. It does not block.
func (d *Feed) NoteRefusal(f refusals.Fresh) {
	kind := api.Refused
	if f.Observed {
		kind = api.WouldRefuse
	}
	d.ring.note(noted{Event: api.Event{Kind: kind, At: f.At}, refusal: &f})
}
