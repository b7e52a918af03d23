package lease

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Each failpoint is called at its place. Without failpoints nothing is called.
func TestEachFailpointIsCalledAtItsPlace(t *testing.T) {
	var seen []string
	asked := func(what string, call func() error) error {
		seen = append(seen, what)
		return call()
	}
	t.Cleanup(func() { Inject(Failpoints{}) })
	take := func(f Failpoints) []string {
		seen = nil
		Inject(f)
		r := newRig(t, testDir(t), newFakeClock())
		_, err := r.Acquire(bg, ann)
		require.NoError(t, err)
		return seen
	}
	require.Empty(t, take(Failpoints{}))
	require.Contains(t, take(Failpoints{Change: asked}), "claim.link")
	require.Contains(t, take(Failpoints{Look: asked}), "list")
	require.NotEmpty(t, take(Failpoints{Open: func(_ int, call func() error) error { return asked("open", call) }}))
	require.NotEmpty(t, take(Failpoints{Flock: func(fd, how int) error { return asked("flock", func() error { return unix.Flock(fd, how) }) }}))
	note := func(what string) func(*record.Record) {
		return func(r *record.Record) { seen = append(seen, what) }
	}
	require.Equal(t, []string{"claiming", "claimed"}, take(Failpoints{Claiming: note("claiming"), Claimed: note("claimed")}))
	require.Contains(t, take(Failpoints{Point: func(name string) { seen = append(seen, name) }}), "claim.before_link")

	Inject(Failpoints{Remote: true})
	require.Equal(t, tierRemote, testDir(t).tier)
	c := newFakeClock()
	Inject(Failpoints{Clock: func(Clock) Clock { return c }})
	require.Equal(t, Clock(c), SystemClock())
}

// An error of the store is the error of Acquire.
func TestAFailpointFails(t *testing.T) {
	t.Cleanup(func() { Inject(Failpoints{}) })
	Inject(Failpoints{Change: func(string, func() error) error { return unix.ENOSPC }})
	_, err := newRig(t, testDir(t), newFakeClock()).Acquire(bg, ann)
	requireClass(t, ClassStoreFailed, err)
	require.ErrorIs(t, err, unix.ENOSPC)
}
