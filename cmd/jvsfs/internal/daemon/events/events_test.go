package events

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func TestEventRing(t *testing.T) {
	r := newRing()
	l := r.after(0, 10)
	require.Empty(t, l.events)
	require.Zero(t, l.next)
	r.note(noted{Event: api.Event{Kind: api.Acquired}})
	<-l.more
	for range kept + 5 {
		r.note(noted{Event: api.Event{Kind: api.Refused}})
	}
	l = r.after(0, 3)
	require.EqualValues(t, 7, l.first, "events 1 to 6 are forgotten")
	require.Len(t, l.events, 3)
	require.EqualValues(t, 7, l.events[0].Seq)
	require.EqualValues(t, 9, l.next)
	l = r.after(l.next, kept)
	require.Zero(t, l.first)
	require.EqualValues(t, 10, l.events[0].Seq)
	require.EqualValues(t, kept+6, l.next)
	require.Equal(t, l.next, r.latest())
	require.EqualValues(t, r.latest(), r.after(1<<40, 1).next, "a number that was never given")
	r.end()
	<-l.more
	require.True(t, r.after(l.next, 1).over)
	require.False(t, r.after(l.next-1, 1).events[0].At.IsZero())
}

// Readers that stand still hold no writer up.
func TestEventRingNeverWaits(t *testing.T) {
	r := newRing()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 * kept {
				r.note(noted{})
			}
		})
	}
	for range 50 {
		r.after(0, 1) // and never looks at more
	}
	all.Wait()
	require.EqualValues(t, 12*kept, r.latest())
	require.Len(t, r.events, kept)
}

// What the fence does becomes events: the table has the steps, and what is told.
func TestLeaseEvents(t *testing.T) {
	a, b := lease.Holder{Host: "h", User: "u", PID: 1}, lease.Holder{Host: "h", User: "u", PID: 2}
	open := func(token, since lease.Token, h lease.Holder) func(*Lease) {
		return func(l *Lease) { l.opened(lease.Grant{Token: token, Since: since, Holder: h}) }
	}
	closed := func(kind lease.LossKind, token lease.Token, h lease.Holder) func(*Lease) {
		return func(l *Lease) { l.closed(lease.Loss{Kind: kind, Token: token, Holder: h}) }
	}
	audit := func(kind lease.EventKind, token, previous lease.Token, h, from lease.Holder) func(*Lease) {
		return func(l *Lease) {
			require.NoError(t, l.Auditing(func(lease.Event) error { return nil })(lease.Event{Kind: kind, Token: token, Previous: previous, Holder: h, From: from}))
		}
	}
	type steps []func(*Lease)
	for name, c := range map[string]struct {
		steps steps
		want  []string
	}{
		"taken and given back":               {steps{open(1, 1, a), closed(lease.LossReleased, 1, a)}, []string{"acquired", "released"}},
		"its holder ended":                   {steps{open(1, 1, a), closed(lease.LossHolderGone, 1, a)}, []string{"acquired", "released"}},
		"stolen":                             {steps{open(1, 1, a), closed(lease.LossPaused, 1, a), audit(lease.EventSteal, 2, 1, b, lease.Holder{}), open(2, 2, b)}, []string{"acquired", "lost", "stolen from 1"}},
		"a steal that did not happen":        {steps{audit(lease.EventSteal, 2, 1, b, lease.Holder{}), open(3, 3, b)}, []string{"acquired"}},
		"handed over":                        {steps{open(1, 1, a), audit(lease.EventHandover, 2, 1, b, a), closed(lease.LossHandedOver, 1, a), open(2, 2, b)}, []string{"acquired", "handed_over from 1"}},
		"handed over to nobody":              {steps{open(1, 1, a), audit(lease.EventHandover, 2, 1, b, a), closed(lease.LossHandedOver, 1, a), audit(lease.EventRelease, 2, 1, b, lease.Holder{})}, []string{"acquired", "released"}},
		"handed over to another host":        {steps{open(1, 1, a), closed(lease.LossHandedOver, 1, a)}, []string{"acquired", "handed_over"}},
		"a handover that did not happen":     {steps{open(1, 1, a), audit(lease.EventHandover, 2, 1, b, a), closed(lease.LossReleased, 1, a)}, []string{"acquired", "released"}},
		"a renewal came after all":           {steps{open(1, 1, a), closed(lease.LossRenewFailed, 1, a), open(1, 1, a)}, []string{"acquired", "lost", "resumed"}},
		"went on after a pause":              {steps{open(1, 1, a), closed(lease.LossResumed, 1, a), audit(lease.EventResume, 2, 1, a, lease.Holder{}), open(2, 1, a)}, []string{"acquired", "resumed"}},
		"a pause, then for good":             {steps{open(1, 1, a), closed(lease.LossPaused, 1, a), closed(lease.LossExpired, 1, a), closed(lease.LossExpired, 1, a)}, []string{"acquired", "lost", "lost"}},
		"another daemon goes on":             {steps{open(1, 1, a), closed(lease.LossReplaced, 1, a)}, []string{"acquired"}},
		"taken over by somebody elsewhere":   {steps{open(1, 1, a), closed(lease.LossSuperseded, 1, a)}, []string{"acquired", "lost"}},
		"given back, and taken by the next":  {steps{open(1, 1, a), closed(lease.LossReleased, 1, a), open(2, 2, b)}, []string{"acquired", "released", "acquired"}},
		"a lease that came from before here": {steps{open(5, 3, a)}, []string{"resumed"}},
	} {
		t.Run(name, func(t *testing.T) {
			ring := newRing()
			l := &Lease{ring: ring, id: "main"}
			for _, step := range c.steps {
				step(l)
			}
			var got []string
			for _, n := range ring.after(0, 100).events {
				text := string(n.Kind)
				if n.Before != nil {
					text += " from " + map[int]string{1: "1", 2: "2"}[n.Before.PID]
				}
				require.NotNil(t, n.Holder)
				require.Equal(t, "main", n.Worktree)
				got = append(got, text)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// What is collected for one answer has no gap: the next answer tells of it. And a reader skips what is not for it.
func TestCollectedEventsHaveNoGap(t *testing.T) {
	d := New(names{}, "", nil)
	var a api.EventsAnswer
	d.ring.note(noted{Event: api.Event{Kind: api.ModeSwitched}})
	d.collectEvents(&a, 7)
	require.Len(t, a.Events, 1)
	for range kept + 1 {
		d.ring.note(noted{Event: api.Event{Kind: api.Refused}, refusal: &refusals.Fresh{Refusal: &gate.Refusal{Caller: process.Caller{UID: 8}}}})
	}
	d.collectEvents(&a, 7)
	require.Len(t, a.Events, 1)
	require.EqualValues(t, 1, a.Next)
	require.Zero(t, a.First)
	b := api.EventsAnswer{Next: a.Next}
	d.collectEvents(&b, 7)
	require.Empty(t, b.Events, "refusals of another user")
	require.EqualValues(t, 3, b.First)
	require.Equal(t, d.ring.latest(), b.Next)
}

// names are those of a mount at /srv.
type names struct{}

func (names) Mountpoint() string { return "/srv" }

func (names) PathOf(id lease.WorktreeID) string { return "/srv/" + string(id) }

func (names) Below(rel string) string { return "/srv/" + rel }
