package lease

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/audit"
)

// writer is an automatic holder.
func writer(name string, pid int) Holder {
	h := person(name, pid)
	h.Auto, h.Scope = true, "session"
	return h
}

// The lease of a writer that has ended passes to the next writer. The audit has all events in their order, whoever told them.
func TestAuditEventsOfPassedLeasesAreInOrder(t *testing.T) {
	r := newRig(t, testDir(t), newFakeClock())
	r.must(t, writer("ann", 10))
	require.Empty(t, r.events(), "its writer waits for no audit")
	r.live = Gone
	r.tick()
	r.live = Alive
	g := r.must(t, writer("bob", 20))
	require.EqualValues(t, 2, g.Token)
	require.Empty(t, r.events())
	r.tell.WhenDue(context.Background(), time.Hour)
	require.Empty(t, r.events(), "there is a wake to see to first")
	require.NoError(t, r.Release(context.Background(), LossReleased))
	require.Equal(t, []string{"acquire", "release", "acquire", "release"}, r.events())
	require.Equal(t, []Token{1, 1, 2, 2}, []Token{r.log[0].Token, r.log[1].Token, r.log[2].Token, r.log[3].Token})
}

// The number of noted events is bounded. Close tells all of them.
func TestNotedEventsAreBoundedAndToldAtTheClose(t *testing.T) {
	r := newRig(t, testDir(t), newFakeClock())
	for i := range 3 * audit.QueueMost {
		r.tell.Later(Event{Kind: EventKind(fmt.Sprint(i))})
	}
	require.NoError(t, r.Close())
	require.Len(t, r.events(), 3*audit.QueueMost)
	for i, kind := range r.events() {
		require.Equal(t, fmt.Sprint(i), kind)
	}
}

// A release is not waited for on the disk only if the holder took the lease by writing and has ended, on tier A.
func TestAReleaseWaitsForTheDiskUnlessAnAutomaticHolderEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		at   tier
		h    Holder
		kind LossKind
		want bool
	}{
		{"a writer that has ended", tierA, writer("ann", 10), LossHolderGone, true},
		{"a writer that is idle", tierA, writer("ann", 10), LossIdle, false},
		{"a writer that released", tierA, writer("ann", 10), LossReleased, false},
		{"on purpose", tierA, ann, LossHolderGone, false},
		{"a store that others write too", tierRemote, writer("ann", 10), LossHolderGone, false},
	} {
		d := testDir(t)
		d.tier = c.at
		r := newRig(t, d, newFakeClock())
		require.Equal(t, c.want, ending{k: r.Keeper, kind: c.kind}.unwaited(&holding{holder: c.h}), c.name)
	}
}

// The lease is released at once, for everybody.
func TestTheLeaseOfAnEndedWriterIsReleasedAtOnce(t *testing.T) {
	d, clock := testDir(t), newFakeClock()
	r, other := newRig(t, d, clock), newRig(t, d, clock)
	r.must(t, writer("ann", 10))
	r.live = Gone
	r.tick()
	h, j := other.Observe()
	require.Equal(t, Free, j.State)
	require.True(t, h.Record.Released)
	require.Zero(t, h.ViewToken, "the view is gone")
	require.EqualValues(t, 2, other.must(t, bob).Token)
	past, err := other.Past(0, 2)
	require.NoError(t, err)
	require.Equal(t, PastGiven, past[0].End, "nobody took it from him")
}

// A listing has every name, of any length, over many calls of getdents.
func TestEveryNameIsListed(t *testing.T) {
	d := testDir(t)
	var want []string
	for i := range 700 {
		name := fmt.Sprintf("%0*d", 1+i%200, i)
		d.put(t, name, "")
		want = append(want, name)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	names, err := d.names()
	require.NoError(t, err)
	slices.Sort(names)
	require.Equal(t, want, names)
}

// A remembered record is a copy for each caller. Bytes that do not parse are not remembered.
func TestParsedRecordsAreCopies(t *testing.T) {
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	r.must(t, ann)
	s := d.Store("main")
	one := s.readRecordFile(s.claimName(1))
	one.Record.HolderID = "changed"
	two := s.readRecordFile(s.claimName(1))
	require.Equal(t, ann.ID(), two.Record.HolderID)
	two.Record.HolderID = "changed" // the first was read from the disk, the second is remembered
	require.Equal(t, ann.ID(), s.readRecordFile(s.claimName(1)).Record.HolderID)
	_, err := s.parsed.Parse([]byte("{}"), [32]byte{1}, "main")
	require.Error(t, err)
	_, err = s.parsed.Parse([]byte("{}"), [32]byte{1}, "main")
	require.Error(t, err)
}

// The events of commands within a moment are told at once. A single event is told soon.
func TestEventsOfABurstAreToldAtOnce(t *testing.T) {
	c := newFakeClock()
	var told []int
	r := newRig(t, testDir(t), c, func(cfg *KeeperConfig) {
		cfg.AuditAll = func(all []Event) error { told = append(told, len(all)); return nil }
	})
	quiet := func() { // as after Run's turn
		select {
		case <-r.wake:
		default:
		}
	}
	for i := range 5 {
		r.must(t, writer(fmt.Sprint("w", i), 100+i))
		r.live = Gone
		r.tick()
		r.live = Alive
		quiet()
		require.LessOrEqual(t, r.tell.WhenDue(bg, time.Hour), audit.QueueFor, "Run comes back in time")
	}
	require.Empty(t, told)
	c.advance(audit.QueueFor)
	r.wake.poke()
	require.Zero(t, r.tell.WhenDue(bg, time.Hour), "there is a wake to see to first")
	require.Empty(t, told)
	quiet()
	require.Greater(t, r.tell.WhenDue(bg, time.Hour), time.Minute)
	require.Equal(t, []int{10}, told)
	require.Equal(t, time.Hour, r.tell.WhenDue(bg, time.Hour))
	for range audit.QueueMost / 2 {
		r.tell.Later(Event{Kind: "x"})
	}
	quiet()
	r.tell.WhenDue(bg, time.Hour)
	require.Equal(t, []int{10, audit.QueueMost / 2}, told, "many are not kept for long")
}

// While leases pass from writer to writer, the head is not read a second time before the gate. The look under the gate sees a change
// that a tick of the stamps hid.
func TestAFreeHeadThatWasJustSeenIsNotReadAgain(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r, other := newRig(t, d, c), newRig(t, d, c)
	r.must(t, writer("ann", 10))
	r.live = Gone
	r.tick()
	r.live = Alive
	_, j := r.Observe()
	require.Equal(t, Free, j.State)
	free := func(h Holder) bool { return (&taking{k: r.Keeper, holder: h}).seenFree() }
	require.True(t, free(writer("bob", 20)))
	require.False(t, free(bob), "on purpose")
	d.tier = tierRemote
	require.False(t, free(writer("bob", 20)))
	d.tier = tierA
	other.must(t, writer("eve", 30))
	require.False(t, free(writer("bob", 20)), "the stamps have moved")
	_, j = r.Observe()
	require.Equal(t, Held, j.State)
	require.False(t, free(writer("bob", 20)))
	r.files().mu.Lock()
	r.files().free = r.files().stamps(2) // as if no stamp had moved
	r.files().mu.Unlock()
	require.True(t, free(writer("bob", 20)))
	_, err := r.Acquire(bg, writer("bob", 20))
	requireClass(t, ClassLockConflict, err)
	h, _ := r.Observe()
	require.EqualValues(t, 2, h.Token)
}
