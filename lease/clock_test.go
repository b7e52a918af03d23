package lease

import (
	"bytes"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock without a system call is read only while it is the kernel's. Each of these would let a writer go on after its deadline, or
// not until it.
func TestAFastClockThatIsNotTheKernelsIsNotUsed(t *testing.T) {
	for name, fast := range map[string]func(kernel, began time.Duration) (time.Duration, bool){
		"behind":       func(k, _ time.Duration) (time.Duration, bool) { return k - time.Hour, true },
		"ahead":        func(k, _ time.Duration) (time.Duration, bool) { return k + time.Hour, true },
		"stands still": func(_, b time.Duration) (time.Duration, bool) { return b, true },
		"goes slower":  func(k, b time.Duration) (time.Duration, bool) { return b + (k-b)/2, true },
		"goes faster":  func(k, b time.Duration) (time.Duration, bool) { return k + (k-b)/2, true },
		"misses sleep": func(k, b time.Duration) (time.Duration, bool) { return k - (k-b)/time.Hour*time.Hour, true },
		"is not there": func(time.Duration, time.Duration) (time.Duration, bool) { return 0, false },
		"is negative":  func(time.Duration, time.Duration) (time.Duration, bool) { return -1, true },
	} {
		const began = time.Hour
		kernel := began
		c := fastClock{
			fast: func() (time.Duration, bool) { return fast(kernel, began) },
			slow: func() time.Duration { kernel += time.Millisecond; return kernel },
		}
		for range proveEvery {
			kernel += time.Microsecond
			c.read()
		}
		kernel += 2 * time.Hour // asleep
		for range proveEvery {
			c.read()
		}
		require.True(t, c.wrong.Load(), name)
		now := c.read()
		require.Equal(t, kernel, now, name)
	}
}

// One that is right is read without the slow one, but for the proofs.
func TestAFastClockThatIsRightIsUsed(t *testing.T) {
	kernel, calls := time.Hour, 0
	c := fastClock{
		fast: func() (time.Duration, bool) { return kernel, true },
		slow: func() time.Duration { calls++; return kernel },
	}
	const reads = 100_000
	for range reads {
		kernel += time.Microsecond
		require.Equal(t, kernel, c.read())
	}
	require.False(t, c.wrong.Load())
	require.Less(t, calls, reads/100)
	before := calls
	kernel += 2 * proveAfter
	c.read()
	require.Equal(t, before+2, calls, "not proven for that long")
}

// The vDSO's reading lies between two of the system call's: on small and large stacks, while they grow, and under a profile's signals.
func TestTheVDSOReadsTheKernelsBootClock(t *testing.T) {
	if _, ok := vdsoBoot(); !ok {
		t.Skip("no vDSO")
	}
	if err := pprof.StartCPUProfile(&bytes.Buffer{}); err == nil {
		defer pprof.StopCPUProfile()
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for deep := range 60 {
				below(deep, func() {
					before := kernelBoot()
					now, _ := vdsoBoot()
					after := kernelBoot()
					if now < before-proveSlack || now > after+proveSlack {
						t.Errorf("the vDSO says %d between %d and %d", now, before, after)
					}
				})
			}
		})
	}
	all.Wait()
}

// below calls f on a deeper stack.
//
//go:noinline
func below(deep int, f func()) byte {
	var room [512]byte
	room[deep%len(room)] = byte(deep)
	if deep == 0 {
		f()
		return room[0]
	}
	return below(deep-1, f) + room[1]
}
