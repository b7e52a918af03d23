package engine

import (
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
)

// voter is a policy that does as it is told, and notes what it was asked.
type voter struct {
	ask, plan error
	holds     func(*Plan)
	heard     []string
}

func (v *voter) Ask(*Mutation) error {
	v.heard = append(v.heard, "ask")
	return v.ask
}

func (v *voter) Plan(_ *Mutation, p *Plan) error {
	v.heard = append(v.heard, "plan")
	if v.holds != nil {
		v.holds(p)
	}
	return v.plan
}

func (v *voter) After(*Mutation)  { v.heard = append(v.heard, "after") }
func (v *voter) Done(m *Mutation) { v.heard = append(v.heard, "done "+m.Op.String()) }

// never passes over a refusal.
func never(error) bool { return false }

// What policies need is taken in the written order, whatever order they ask in, and is held when they are asked for the last word.
func TestLocksAreTakenInTheWrittenOrder(t *testing.T) {
	var repository, snapshots sync.RWMutex
	judged := false
	first := &voter{holds: func(p *Plan) { p.Hold(Snapshots, &snapshots, false) }}
	second := &voter{holds: func(p *Plan) {
		p.Hold(Repository, &repository, false)
		p.Hold(Repository, &repository, true)
		p.Judge(func() error {
			judged = true
			require.False(t, repository.TryRLock(), "it is held alone, as was needed once")
			require.False(t, snapshots.TryLock())
			require.True(t, snapshots.TryRLock())
			snapshots.RUnlock()
			return nil
		})
	}}
	var h Held
	h.Reach(Gates)
	a, err := Policies{first, second}.Admit(Mutation{Op: gate.OpMkdir}, &h, never)
	require.NoError(t, err)
	require.True(t, judged)
	require.Equal(t, []Rank{Repository, Snapshots}, []Rank{h.of[0].rank, h.of[1].rank})
	require.True(t, h.Has(Snapshots))
	a.Done()
	require.Equal(t, []string{"plan", "done Mkdir"}, first.heard)
	a.Drop()
	h.Release()
	h.Release()
	require.False(t, h.Has(Snapshots))
	for _, l := range []*sync.RWMutex{&repository, &snapshots} {
		require.True(t, l.TryLock(), "all is let go of")
	}
}

func TestOneRefusalIsEnough(t *testing.T) {
	no := &gate.Refusal{Reason: gate.ReasonReady}
	for name, refuses := range map[string]*voter{
		"who plans":                {plan: no},
		"who has the last word":    {holds: func(p *Plan) { p.Judge(func() error { return no }) }},
		"who does not go that far": {plan: syscall.EXDEV},
	} {
		t.Run(name, func(t *testing.T) {
			other := &voter{}
			var h Held
			a, err := Policies{refuses, other}.Admit(Mutation{}, &h, never)
			require.Error(t, err)
			require.Nil(t, a)
			a.Done()
			a.Drop()
			require.NotContains(t, other.heard, "done")
		})
	}
	observed, other := &voter{plan: no}, &voter{}
	var h Held
	a, err := Policies{observed, other}.Admit(Mutation{Op: gate.OpMkdir}, &h, func(err error) bool { return errors.Is(err, no) })
	require.NoError(t, err)
	a.Done()
	require.Equal(t, []string{"plan", "done Mkdir"}, other.heard, "who only observes asks all, and tells all that it was done")
	a.Drop()
	_, err = Policies{&voter{plan: ErrAgain}}.Admit(Mutation{}, &h, func(error) bool { return true })
	require.ErrorIs(t, err, ErrAgain, "that is no refusal")

	after := &voter{}
	require.ErrorIs(t, Policies{&voter{ask: no}, after}.Ask(&Mutation{}), no)
	require.Empty(t, after.heard)
}

// A mount without policies asks nobody, and pays nothing.
func TestNoPolicyCostsNothing(t *testing.T) {
	var h Held
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a, err := Policies(nil).Admit(Mutation{Op: gate.OpWrite}, &h, never)
		if a != nil || err != nil {
			t.Fail()
		}
		a.Drop()
		h.Release()
	}))
}

// What one change has planned does not stay for the next.
func TestAPlanIsForgotten(t *testing.T) {
	var l sync.RWMutex
	once := true
	v := &voter{holds: func(p *Plan) {
		if once {
			p.Hold(Snapshots, &l, true)
			p.Judge(func() error { return nil })
		}
	}}
	for range 10 {
		var h Held
		a, err := Policies{v}.Admit(Mutation{}, &h, never)
		require.NoError(t, err)
		require.Equal(t, once, h.Has(Snapshots))
		require.Len(t, a.plan.words, map[bool]int{true: 1}[once])
		a.Drop()
		h.Release()
		once = false
	}
}
