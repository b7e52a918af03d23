package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFirstWriterInTheQueueGetsTheLease(t *testing.T) {
	var l Line
	require.False(t, l.Busy())
	a, b, c := l.Join(), l.Join(), l.Join()
	require.True(t, l.Busy())
	require.False(t, a.Mine(), "it has not come yet")
	require.Zero(t, l.Waiting())
	cs := c.Stand()
	require.True(t, c.Mine(), "of those who are here it is the first")
	require.True(t, isClosed(cs))
	as, bs := a.Stand(), b.Stand()
	require.True(t, c.Mine(), "nobody's turn is taken away")
	require.Equal(t, 3, l.Waiting())
	require.False(t, isClosed(as) || isClosed(bs))
	c.Leave()
	require.True(t, a.Mine(), "the order is that of asking")
	require.True(t, isClosed(as))
	b.Leave()
	require.True(t, a.Mine())
	d := l.Join()
	ds := d.Stand()
	a.Leave()
	a.Leave()
	require.True(t, isClosed(ds))
	d.Leave()
	require.Zero(t, l.Waiting())
	require.False(t, l.Busy())
}
