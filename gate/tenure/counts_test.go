package tenure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a rule has counted stays when a lock of it is forgotten.
func TestCountsStayWhenALockIsForgotten(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	other.refusedWrite(theFile, "held by")
	require.NoError(t, one.remove(theLock))
	before := g.book.Counts()[0]
	require.Equal(t, []uint64{1, 1, 0}, []uint64{before.Tenures, before.Refusals, before.Held})
	g.book.mu.Lock()
	g.book.forgetUnused()
	require.Empty(t, g.book.all)
	g.book.mu.Unlock()
	require.Equal(t, before, g.book.Counts()[0])
	require.NoError(t, other.make(theLock))
	require.Equal(t, uint64(2), g.book.Counts()[0].Tenures)
}

// A break by hand needs no leave of the rule, and robs the holder; a tenure that is not the one that was shown stays.
func TestABreakByHandTakesALockFromItsHolder(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	i := g.book.Rules().At(theLock).Locks[0]
	_, err := g.book.Break(t.Context(), i, 0, other.Caller)
	require.ErrorIs(t, err, ErrFree)
	require.NoError(t, one.make(theLock))
	number := g.book.Locks()[0].Tenure
	_, err = g.book.Break(t.Context(), i, number-1, other.Caller)
	require.ErrorIs(t, err, ErrAnother)
	one.writes(theFile)
	was, err := g.book.Break(t.Context(), i, number, other.Caller)
	require.NoError(t, err)
	require.Equal(t, number, was.Tenure)
	require.NoError(t, other.make(theLock))
	one.refusedWrite(theFile, "stays out until it takes it anew")
	require.Equal(t, []EventKind{Taken, Broken, Taken}, g.seen())
}
