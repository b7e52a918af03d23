package events

import (
	"sync"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Lease tells what becomes of the lease of one worktree. What happened is what the fence did: the audit
// has a steal, a handover or a resume before it happens, and whether it does happen only the fence knows. Of the
// audit it takes how the lease was taken. Safe for concurrent use.
type Lease struct {
	ring *ring
	id   lease.WorktreeID

	mu   sync.Mutex
	how  lease.Event // the latest that was audited of taking a lease
	lost lease.Loss  // the latest
}

// audited notes how a lease is about to be taken. A lease that was handed over, and then could be given to
// nobody, has been released.
func (l *Lease) audited(all []lease.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range all {
		switch {
		case e.Kind == lease.EventSteal || e.Kind == lease.EventHandover || e.Kind == lease.EventResume:
			l.how = e
		case e.Kind == lease.EventRelease && e.Token == l.how.Token && l.how.Kind == lease.EventHandover && l.lost.Token != e.Token:
			l.tell(api.Released, e.Token, e.Previous, e.Holder, e.Reason)
		}
	}
}

// opened tells that writers of a grant may pass.
func (l *Lease) opened(g lease.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.lost
	l.lost = lease.Loss{}
	how := lease.Event{Kind: lease.EventAcquire}
	if l.how.Token == g.Token {
		how = l.how
	}
	kind, previous := api.Acquired, how.Previous
	switch {
	case how.Kind == lease.EventSteal:
		kind = api.Stolen
	case how.Kind == lease.EventHandover:
		kind = api.HandedOver
	case how.Kind == lease.EventResume, g.Since != 0 && g.Since < g.Token, before.Token == g.Token:
		kind, previous = api.Resumed, before.Token // a renewal came after all, or it went on after a pause
	}
	e := l.event(kind, g.Token, previous, g.Holder, how.Reason)
	if from := firstHolder(how.From, before.Holder); kind != api.Acquired && kind != api.Resumed && from.PID != 0 {
		e.Before = gate.ViewOf(from, previous)
	}
	l.ring.note(noted{Event: e})
}

func firstHolder(all ...lease.Holder) lease.Holder {
	for _, h := range all {
		if h.PID != 0 {
			return h
		}
	}
	return lease.Holder{}
}

// closed tells that they may not pass any more.
func (l *Lease) closed(x lease.Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.lost.Token == x.Token && l.lost.Kind == x.Kind
	l.lost = x
	kind := api.Lost
	switch x.Kind {
	case lease.LossReleased, lease.LossHolderGone, lease.LossIdle:
		kind = api.Released
	case lease.LossHandedOver:
		if l.how.Kind == lease.EventHandover && l.how.Previous == x.Token {
			return // who has it now is told next
		}
		kind = api.HandedOver // to another host, whose daemon knows to whom
	case lease.LossResumed, lease.LossReplaced:
		return // it goes on: here, or in another daemon
	}
	if again {
		return
	}
	reason := x.Kind.String()
	if x.Err != nil {
		reason = x.Err.Error()
	}
	l.tell(kind, x.Token, 0, x.Holder, reason)
}

func (l *Lease) tell(kind api.EventKind, token, previous lease.Token, h lease.Holder, reason string) {
	l.ring.note(noted{Event: l.event(kind, token, previous, h, reason)})
}

func (l *Lease) event(kind api.EventKind, token, previous lease.Token, h lease.Holder, reason string) api.Event {
	e := api.Event{Kind: kind, Worktree: string(l.id), Token: token, Holder: gate.ViewOf(h, token), Reason: reason}
	if previous != token {
		e.Previous = previous
	}
	return e
}

// Fenced is a fence whose steps are events.
func (l *Lease) Fenced(inner lease.Fence) lease.Fence { return toldFence{inner, l} }

// toldFence is a fence whose steps are events.
type toldFence struct {
	lease.Fence
	told *Lease
}

// Open opens the inner fence, then tells.
func (f toldFence) Open(g lease.Grant) {
	f.Fence.Open(g)
	f.told.opened(g)
}

// Close closes the inner fence, then tells.
func (f toldFence) Close(l lease.Loss) {
	f.Fence.Close(l)
	f.told.closed(l)
}

// Auditing is an audit whose events are heard here when they are in the chain.
func (l *Lease) Auditing(audit func(lease.Event) error) func(lease.Event) error {
	return func(e lease.Event) error {
		err := audit(e)
		if err == nil {
			l.audited([]lease.Event{e})
		}
		return err
	}
}
