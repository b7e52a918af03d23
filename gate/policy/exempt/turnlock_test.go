package exempt

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Either one has the lock alone or several share it, whoever gives up meanwhile. Afterwards it is
// free.
func TestATurnLockIsHeldAloneOrShared(t *testing.T) {
	var l turnLock
	var shared, alone, had atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 200 {
				one := (i+n)%7 == 0
				off := make(chan struct{})
				if n%3 == 0 {
					close(off)
				}
				if !l.lock(one, off) {
					continue
				}
				had.Add(1)
				if one {
					if alone.Add(1) != 1 || shared.Load() != 0 {
						t.Error("not alone")
					}
					alone.Add(-1)
				} else {
					shared.Add(1)
					if alone.Load() != 0 {
						t.Error("shared while somebody has it alone")
					}
					shared.Add(-1)
				}
				l.unlock(one)
			}
		})
	}
	all.Wait()
	require.NotZero(t, had.Load())
	require.True(t, l.try(true), "it is free")
	l.unlock(true)
	require.Empty(t, l.line)
}

// Nobody starves: a shared lock does not pass an exclusive one that came before.
func TestATurnLockKeepsTheOrder(t *testing.T) {
	var l turnLock
	require.True(t, l.try(false))
	came := make(chan bool)
	go func() { came <- l.lock(true, nil) }()
	for l.try(false) { // until the other stands in line
		l.unlock(false)
	}
	l.unlock(false)
	require.True(t, <-came)
	require.False(t, l.try(false))
	l.unlock(true)
	require.True(t, l.try(false))
	l.unlock(false)
}
