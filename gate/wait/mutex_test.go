package wait

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestAMutexIsWaitedForUntilItIsFreeOrThePatienceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, off, got := NewMutex(), make(chan struct{}), make(chan bool, 2)
		require.True(t, m.TryLock())
		require.False(t, m.TryLock())
		go func() { got <- m.LockOr(off) }()
		synctest.Wait()
		require.Empty(t, got)
		close(off)
		require.False(t, <-got)
		go func() { m.Lock(); got <- true }()
		synctest.Wait()
		require.Empty(t, got)
		m.Unlock()
		require.True(t, <-got)
		m.Unlock()
		require.True(t, m.LockOr(nil))
	})
}
