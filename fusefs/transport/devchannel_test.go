package transport

import (
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A reader that has found requests without a wait looks whether others are behind them. Beside its only caller it does not.
func TestAReaderBesideItsOnlyCallerDoesNotPoll(t *testing.T) {
	for near, want := range map[bool]int{false: 4, true: 0} {
		looks := 0
		d := newDevChannel(-1, new(threadCalls), nowhere, new(Meter), zap.NewNop())
		d.pool.waiting = func() bool { looks++; return false }
		me := &reader{channel: d, affinity: readerAffinity{pinning: d.pinning, lastCPU: d.lastCPU, holder: &d.holder}}
		me.affinity.near = near
		c := &call{in: asked(fuse.GetAttrIn{InHeader: head(3, fuse.FUSE_ROOT_ID)}), hand: me}
		for range 4 {
			require.True(t, d.pool.next(me))
			me.began = now() + time.Hour // a request is there at once, however long this test is not let run
			d.took(me, c, true)
		}
		require.Equal(t, want, looks)
		require.Equal(t, near, me.affinity.near)
	}
}
