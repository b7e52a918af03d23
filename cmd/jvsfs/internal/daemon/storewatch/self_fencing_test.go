package storewatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// cutRig is a fence whose time and timers the test moves.
type cutRig struct {
	*cutAtDeadline
	now      time.Duration
	due      func()
	hanging  int64
	cuts     []lease.Token
	observed func()
}

func (r *cutRig) Wall() time.Time     { return time.Time{} }
func (r *cutRig) Boot() time.Duration { return r.now }

// quietFence is a fence that does nothing.
type quietFence struct{ lease.Fence }

func (quietFence) Open(lease.Grant) {}

// slowFence drains for as long as the test says.
type slowFence struct {
	quietFence
	drain func()
}

func (f slowFence) Close(lease.Loss) { f.drain() }

func (slowFence) Extend(lease.Token, time.Duration) {}

func newCutRig() *cutRig {
	r := &cutRig{observed: func() {}}
	r.cutAtDeadline = &cutAtDeadline{Fence: slowFence{drain: func() { r.observed() }}, clock: r, inFlight: func() int64 { return r.hanging },
		after: func(_ time.Duration, f func()) *time.Timer { r.due = f; return time.NewTimer(time.Hour) },
		cut:   func(t lease.Token, _ int64) { r.cuts = append(r.cuts, t) }}
	return r
}

// at lets the timer fire at a time.
func (r *cutRig) at(now time.Duration) {
	r.now = now
	r.due()
}

func TestWhatHangsBeyondTheDeadlineIsCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*cutRig)
		want []lease.Token
	}{
		"writes hang at the deadline": {func(r *cutRig) { r.hanging = 2; r.at(10) }, []lease.Token{7}},
		"nothing hangs":               {func(r *cutRig) { r.at(10) }, nil},
		"not before the deadline":     {func(r *cutRig) { r.hanging = 1; r.at(9) }, nil},
		"it was renewed": {func(r *cutRig) {
			r.hanging = 1
			r.Extend(7, 20)
			r.at(19)
		}, nil},
		"the renewed deadline counts": {func(r *cutRig) {
			r.hanging = 1
			r.Extend(7, 20)
			r.at(20)
		}, []lease.Token{7}},
		"once": {func(r *cutRig) { r.hanging = 1; r.at(10); r.at(11) }, []lease.Token{7}},
		"it had drained before": {func(r *cutRig) {
			r.Close(lease.Loss{Token: 7})
			r.hanging = 1 // of others
			r.at(10)
		}, nil},
		"it drains beyond the deadline": {func(r *cutRig) {
			r.hanging = 1
			r.observed = func() { r.at(10) }
			r.Close(lease.Loss{Token: 7})
		}, []lease.Token{7}},
		"the next epoch": {func(r *cutRig) {
			r.Close(lease.Loss{Token: 7})
			r.Open(lease.Grant{Token: 8, Deadline: 30})
			r.hanging = 1
			r.at(30)
		}, []lease.Token{8}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCutRig()
			r.Open(lease.Grant{Token: 7, Deadline: 10})
			c.do(r)
			require.Equal(t, c.want, r.cuts)
		})
	}
}
