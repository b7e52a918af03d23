package transport

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A processor is kept busy until it is dropped, but not for ever. Afterwards the thread may run anywhere again.
func TestABusyLoopOnAProcessorEndsByItself(t *testing.T) {
	f := newTestAffinity(t)
	anywhere := mayRunOn(t, unix.Gettid())
	ended := make(chan struct{})
	go func() { defer close(ended); f.holder.run() }()
	require.Eventually(t, func() bool { return f.holder.bell.Load() != 0 }, patience, time.Millisecond)
	thread := int(f.holder.thread.Load())
	for range 3 {
		slept := sleepsOf(t, thread)
		f.holder.hold(ownProcessor(t))
		if runtime.GOMAXPROCS(0) > 1 {
			require.Eventually(t, func() bool { return sleepsOf(t, thread) > slept }, patience, time.Millisecond)
		}
		require.Eventually(t, func() bool { return mayRunOn(t, thread) == anywhere }, patience, time.Millisecond)
		f.holder.drop()
	}
	f.holder.hold(ownProcessor(t))
	f.holder.end()
	<-ended
	f.holder.close()
}

func TestABusyLoopRunsOnTheProcessorThatItIsGiven(t *testing.T) {
	_ = newTestAffinity(t) // keeps this thread, and looks at it at the end
	anywhere, at := mayRunOn(t, unix.Gettid()), ownProcessor(t)
	var s cpuHolder
	s.thread.Store(int32(unix.Gettid())) // in the place of run
	s.hold(at)
	if runtime.GOMAXPROCS(0) == 1 {
		require.False(t, s.wanted.Load())
		return
	}
	var one unix.CPUSet
	one.Set(at)
	require.Equal(t, one, mayRunOn(t, unix.Gettid()))
	require.NoError(t, unix.SchedSetaffinity(0, &anywhere))
	require.True(t, s.wanted.Load())
	s.drop()
	require.False(t, s.wanted.Load())
}

// A channel may end before its cpuHolder has begun.
func TestABusyLoopThatHasEndedDoesNotBegin(t *testing.T) {
	var s cpuHolder
	s.hold(0)
	s.end()
	s.run()
	s.close()
}

// sleepsOf is how often a thread has gone to sleep.
func sleepsOf(t *testing.T, thread int) uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", thread))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
	require.True(t, found)
	n, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]), 10, 64)
	require.NoError(t, err)
	return n
}
