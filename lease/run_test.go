package lease

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// bubbleClock is synctest's time as both clocks.
type bubbleClock struct{ start time.Time }

func (b bubbleClock) Wall() time.Time     { return time.Now().Round(0) }
func (b bubbleClock) Boot() time.Duration { return time.Hour + time.Since(b.start) }

func TestRunRenewsExpiresAndJoins(t *testing.T) {
	d := testDir(t)
	synctest.Test(t, func(t *testing.T) {
		clock := bubbleClock{time.Now()}
		fence := &fakeFence{clock: clock}
		live := make(chan Liveness, 1)
		live <- Alive
		k := NewKeeper(KeeperConfig{Store: d.Store("main"), Clock: clock, Fence: fence, Liveness: func(Holder) Liveness {
			l := <-live
			live <- l
			return l
		}})
		ctx, cancel := context.WithCancel(bg)
		defer cancel() // a Run that went on after a failure would keep the bubble's time going for ever
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		synctest.Wait()
		_, err := k.Acquire(bg, ann)
		require.NoError(t, err)
		time.Sleep(5 * time.Minute) // bubble time
		require.True(t, fence.passes())
		h, _ := k.Observe()
		require.GreaterOrEqual(t, h.Record.RenewCount, uint64(29))
		<-live
		live <- Stopped
		time.Sleep(21 * time.Second)
		require.Equal(t, []LossKind{LossPaused}, fence.kinds())
		require.Less(t, fence.closeAt[0], fence.grant.Deadline)
		<-live
		live <- Alive
		_, err = k.Acquire(bg, ann)
		require.NoError(t, err)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []LossKind{LossPaused, LossReleased}, fence.kinds())
		_, j := k.Observe()
		require.Equal(t, Free, j.State)
		require.NoError(t, k.Close())
		_, err = k.Acquire(bg, ann)
		requireClass(t, ClassStoreFailed, err)
	})
}
