package gate

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever waits says so, and says when that is over: the file system reads on meanwhile.
func TestWhoWaitsSaysSo(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	var waiting atomic.Int64
	g.cfg.Enforcement.OnWait(func() func() {
		waiting.Add(1)
		return func() { waiting.Add(-1) }
	})
	h := heldFor(t, g, k, time.Hour)
	done := enterInBackground(t, g, write(EpochOf(h.tok)))
	require.Eventually(t, func() bool { return waiting.Load() == 1 }, eventually, tick)
	h.resume()
	require.Nil(t, <-done)
	require.Zero(t, waiting.Load())
}
