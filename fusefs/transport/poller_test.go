package transport

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newTestPoller polls a pipe in the place of /dev/fuse.
func newTestPoller(t *testing.T) (p *poller, request func()) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	p = newPoller(int(r.Fd()))
	p.off, p.yield = false, func() {} // whatever else runs on this machine
	return p, func() {
		_, err := w.Write([]byte{1})
		require.NoError(t, err)
	}
}

func TestPollingBeginsWhenRequestsFollowEachOther(t *testing.T) {
	p, request := newTestPoller(t)
	request()
	require.False(t, p.wait(), "nothing is known of the callers yet")
	for range scoreEnough {
		require.Less(t, p.score.Load(), int32(scoreEnough))
		p.slept(10 * time.Microsecond)
	}
	require.True(t, p.wait())
}

func TestPollingEndsWhenNobodyCalls(t *testing.T) {
	p, request := newTestPoller(t)
	for range 10 * scoreMax {
		p.slept(10 * time.Microsecond)
	}
	misses := 0
	for ; p.score.Load() >= scoreEnough; misses++ {
		require.False(t, p.wait())
	}
	require.LessOrEqual(t, misses, scoreMax)
	request()
	require.False(t, p.wait(), "it has not paid lately")
}

func TestPollingIsNotBegunForCallersThatTakeTheirTime(t *testing.T) {
	p, _ := newTestPoller(t)
	for range 100 {
		p.slept(10 * time.Microsecond)
		p.slept(time.Millisecond)
		require.Less(t, p.score.Load(), int32(scoreEnough))
	}
}

func TestNoPollingWithOneProcessor(t *testing.T) {
	p, request := newTestPoller(t)
	p.off = true
	for range scoreMax {
		p.slept(10 * time.Microsecond)
	}
	request()
	require.False(t, p.wait())
}

func TestPollingEndsAtOnceWhereOthersWantTheProcessor(t *testing.T) {
	p, request := newTestPoller(t)
	p.yield = func() { time.Sleep(2 * yieldMax) }
	for range scoreMax {
		p.slept(10 * time.Microsecond)
	}
	require.False(t, p.wait())
	request()
	require.False(t, p.wait())
	for range scoreWanted + scoreEnough {
		p.slept(10 * time.Microsecond)
	}
	require.True(t, p.wait(), "after a while it may be tried again")
}
