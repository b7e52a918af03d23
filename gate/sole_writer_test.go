package gate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func TestSoleWriterWhileTheLeaseIsCertain(t *testing.T) {
	g, k, clock := newTestGuard(t, nil)
	_, sole := g.SoleWriter()
	require.False(t, sole, "free")
	h := mountHolder("a")
	tok := k.give(h)
	left, sole := g.SoleWriter()
	require.True(t, sole)
	require.Positive(t, left)
	clock.move(left - time.Nanosecond)
	_, sole = g.SoleWriter()
	require.True(t, sole)
	clock.move(time.Nanosecond)
	_, sole = g.SoleWriter()
	require.False(t, sole, "the deadline has passed")
	k.lose(lease.LossExpired, tok, h)
	_, sole = g.SoleWriter()
	require.False(t, sole)
}

func TestNobodyIsSoleWriterWhereNothingIsRefused(t *testing.T) {
	for name, change := range map[string]func(*GuardConfig){
		"shared":  func(c *GuardConfig) { c.Mode = Shared },
		"observe": func(c *GuardConfig) { c.Enforcement = NewEnforcement(Observing) },
	} {
		g, k, _ := newTestGuard(t, change)
		k.give(mountHolder("a"))
		_, sole := g.SoleWriter()
		require.False(t, sole, name)
	}
}

// While another mount uses the same lease its holder is not the only writer here. Caches that rest
// on that are dropped at once.
func TestAHolderWithASecondMountIsNotTheSoleWriter(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	k.give(mountHolder("a"))
	var dropped []lease.LossKind
	g.OnClose(func(l lease.Loss) { dropped = append(dropped, l.Kind) })
	g.Overlap(true)
	g.Overlap(true)
	require.Equal(t, []lease.LossKind{lease.LossReplaced}, dropped)
	_, sole := g.SoleWriter()
	require.False(t, sole)
	g.Overlap(false)
	_, sole = g.SoleWriter()
	require.True(t, sole)
	require.Len(t, dropped, 1)
}
