package lease

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// A claim's record and the next one say how the claim ended.
func TestTheNextRecordSaysHowAClaimEnded(t *testing.T) {
	a, b := Holder{Host: "h", User: "u", PID: 1, BootID: "b", Scope: "tree"}, Holder{Host: "h", User: "u", PID: 2, BootID: "b", Scope: "tree"}
	rec := func(tok Token, h Holder, change func(*record.Record)) *record.Record {
		r := &record.Record{FencingToken: tok, HolderID: h.ID(), HostBootID: h.BootID, Scope: h.Scope}
		if change != nil {
			change(r)
		}
		return r
	}
	released := func(r *record.Record) { r.Released = true }
	handed := func(r *record.Record) { r.HandedOver = true }
	for name, c := range map[string]struct {
		rec, next *record.Record
		head      bool
		want      PastEnd
	}{
		"released":               {rec(1, a, released), rec(2, b, nil), false, PastGiven},
		"released head":          {rec(1, a, released), nil, true, PastGiven},
		"head":                   {rec(1, a, nil), nil, true, PastLasts},
		"taken":                  {rec(1, a, nil), rec(2, b, nil), false, PastTaken},
		"handed over":            {rec(1, a, nil), rec(2, b, handed), false, PastGiven},
		"handed over later":      {rec(1, a, nil), rec(3, b, handed), false, PastTaken},
		"continued":              {rec(1, a, nil), rec(2, a, nil), false, PastGiven},
		"followed by unreadable": {rec(1, a, nil), nil, false, PastTaken},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, endOf(c.rec, c.next, c.head)) })
	}
}

// If a lease's holder has ended, another may take the lease at once, on purpose; it is released first. For a writer's request Run
// closes it.
func TestTheLeaseOfAnEndedHolderPassesOnAtOnce(t *testing.T) {
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	first := r.must(t, ann)
	writer := bob
	writer.Auto = true
	_, err := r.Acquire(t.Context(), bob)
	requireClass(t, ClassLockConflict, err)
	r.live = Gone
	_, err = r.Acquire(t.Context(), writer)
	requireClass(t, ClassLockConflict, err)
	require.Empty(t, r.fence.kinds(), "a request does not close the fence")
	require.Equal(t, first.Token+1, r.must(t, bob).Token)
	require.Equal(t, []LossKind{LossHolderGone}, r.fence.kinds())
	past, err := r.Past(0, first.Token+1)
	require.NoError(t, err)
	require.Equal(t, PastGiven, past[0].End)
	require.Equal(t, PastLasts, past[1].End)
	r.live = Alive
}

// The successor's record says whether the holder before gave its lease away or lost it.
func TestTheNextRecordSaysWhetherALeaseWasGivenOrLost(t *testing.T) {
	r := newRig(t, testDir(t), newFakeClock())
	first := r.must(t, ann)
	_, err := r.Handover(t.Context(), first.Token, bob, nil)
	require.NoError(t, err)
	past, err := r.Past(first.Token, first.Token+1)
	require.NoError(t, err)
	require.Len(t, past, 2)
	require.Equal(t, PastGiven, past[0].End)
	_, err = r.Renew(t.Context())
	require.NoError(t, err)
	past, err = r.Past(first.Token, first.Token+1)
	require.NoError(t, err)
	require.Equal(t, PastGiven, past[0].End, "a renewal keeps what was said")
}
