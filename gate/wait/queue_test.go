package wait

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFirstInTheQueueHasTheTurn(t *testing.T) {
	var q Queue
	require.False(t, q.Busy())
	a, b, c := q.Join(), q.Join(), q.Join()
	require.True(t, q.Busy())
	require.False(t, a.Mine(), "it has not come yet")
	require.Zero(t, q.Waiting())
	cs := c.Stand()
	require.True(t, c.Mine(), "of those who are here it is the first")
	require.True(t, Happened(cs))
	as, bs := a.Stand(), b.Stand()
	require.True(t, c.Mine(), "nobody's turn is taken away")
	require.Equal(t, 3, q.Waiting())
	require.False(t, Happened(as) || Happened(bs))
	c.Leave()
	require.True(t, a.Mine(), "the order is that of asking")
	require.True(t, Happened(as))
	b.Leave()
	require.True(t, a.Mine())
	d := q.Join()
	ds := d.Stand()
	a.Leave()
	a.Leave()
	require.True(t, Happened(ds))
	d.Leave()
	require.Zero(t, q.Waiting())
	require.False(t, q.Busy())
}
