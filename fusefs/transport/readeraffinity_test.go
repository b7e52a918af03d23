package transport

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newTestAffinity is the affinity of a reader's thread, which is this one. Its lastCPU is the test.
func newTestAffinity(t *testing.T) *readerAffinity {
	runtime.LockOSThread()
	before := mayRunOn(t, unix.Gettid())
	f := &readerAffinity{pinning: newCPUPinning(), lastCPU: newLastCPU(nowhere), holder: &cpuHolder{}}
	t.Cleanup(func() {
		f.letGo()
		require.Equal(t, before, mayRunOn(t, unix.Gettid()), "the thread may run where it could before")
		runtime.UnlockOSThread()
	})
	return f
}

// nowhere is Config.LastCPU where nobody is found.
func nowhere(uint32) int { return noProcessor }

func mayRunOn(t *testing.T, thread int) (may unix.CPUSet) {
	t.Helper()
	require.NoError(t, unix.SchedGetaffinity(thread, &may))
	return may
}

// drive has a caller make calls, each after the same time. lastCPU finds it on a processor.
func (f *readerAffinity) drive(callers []uint32, n int, each time.Duration, on int) {
	for i := range n {
		select {
		case thread := <-f.lastCPU.asked:
			f.lastCPU.found <- whereabouts{thread, on}
		default:
		}
		f.took(callers[i%len(callers)], f.last+each, true, unix.Gettid())
	}
}

// ownProcessor is one on which this thread may run.
func ownProcessor(t *testing.T) int {
	t.Helper()
	may := mayRunOn(t, unix.Gettid())
	for n := range len(may) * 64 {
		if may.IsSet(n) {
			return n
		}
	}
	t.Fatal("no processor")
	return 0
}

// untilNear is how many calls of a new caller bring the reader near: the last one finds the answer of lastCPU.
const untilNear = othersMax + 1 + nearSettle + freeWindow + 1

func TestAReaderIsKeptNearOneCaller(t *testing.T) {
	f := newTestAffinity(t)
	at := ownProcessor(t)
	f.drive([]uint32{7}, untilNear-1, slowCall, at)
	require.False(t, f.near)
	f.drive([]uint32{7}, 1, slowCall, at)
	require.True(t, f.near)
	var one unix.CPUSet
	one.Set(at)
	require.Equal(t, one, mayRunOn(t, unix.Gettid()))
	f.drive([]uint32{7, 7, 7, 7, 7, 7, 8}, 100*nearWindow, quickCall, at)
	require.True(t, f.near, "a caller that comes now and then changes nothing")
	f.drive([]uint32{8}, 4*othersMax, quickCall, at)
	require.False(t, f.near, "the caller has gone")
}

func TestNoReaderIsKeptNearOneOfSeveralCallers(t *testing.T) {
	f := newTestAffinity(t)
	before := mayRunOn(t, unix.Gettid())
	for _, callers := range [][]uint32{{7, 8}, {7, 8, 9}, {7, 7, 8, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}} {
		f.drive(callers, 100*freeWindow, slowCall, ownProcessor(t))
		require.False(t, f.near)
		require.Equal(t, before, mayRunOn(t, unix.Gettid()))
		require.Empty(t, f.lastCPU.asked, "nobody is looked for")
	}
	for range 100 * freeWindow { // the same caller, and each time another reader was waiting too
		f.took(7, f.last+slowCall, false, unix.Gettid())
	}
	require.False(t, f.near)
}

// Near, and as slow as before: it was not the processor.
func TestAReaderIsFreeAgainIfNearDoesNotPay(t *testing.T) {
	f := newTestAffinity(t)
	f.drive([]uint32{7}, 3*freeWindow, slowCall, ownProcessor(t))
	require.False(t, f.near)
	require.NotZero(t, f.rest)
}

// A slow window with the caller beside its reader was slow for another reason, if near has paid so far. It ends when it no longer does.
func TestAReaderThatIsBesideItsCallerStaysWhileNearHasPaid(t *testing.T) {
	f := newTestAffinity(t)
	at := ownProcessor(t)
	f.drive([]uint32{7}, untilNear, slowCall, at)
	f.drive([]uint32{7}, spellCalls, quickCall, at)
	for range 10 {
		f.drive([]uint32{7}, 10*nearWindow, quickCall, at)
		f.drive([]uint32{7}, 2*nearWindow, slowCall, at)
		require.True(t, f.near)
		require.False(t, f.asked, "the answer was taken")
	}
	f.drive([]uint32{7}, 4*spellCalls, slowCall, at)
	require.False(t, f.near)
	require.NotZero(t, f.rest)
}

func TestAReaderIsNotKeptWhereItMayNotRun(t *testing.T) {
	f := newTestAffinity(t)
	f.drive([]uint32{7}, 3*freeWindow, slowCall, 1023)
	require.False(t, f.near)
	require.NotZero(t, f.rest, "lastCPU is not asked in each window")
}

// The answer of lastCPU may come when its caller has been left.
func TestAnAnswerAboutAnotherCallerIsDropped(t *testing.T) {
	f := newTestAffinity(t)
	f.drive([]uint32{7}, untilNear-1, slowCall, 0)
	require.Len(t, f.lastCPU.asked, 1)
	<-f.lastCPU.asked
	f.lastCPU.found <- whereabouts{9, ownProcessor(t)}
	f.took(7, f.last+slowCall, true, unix.Gettid())
	require.False(t, f.near)
}

// The answer of lastCPU may come when near has failed.
func TestALateAnswerMovesNoReader(t *testing.T) {
	f := newTestAffinity(t)
	at := ownProcessor(t)
	f.drive([]uint32{7}, untilNear, slowCall, at)
	for f.near {
		f.took(7, f.last+2*slowCall, true, unix.Gettid()) // nobody answers
	}
	require.NotZero(t, f.rest)
	<-f.lastCPU.asked
	f.lastCPU.found <- whereabouts{7, at}
	f.took(7, f.last+slowCall, true, unix.Gettid())
	require.False(t, f.near)
}

// A thread whose processor somebody else keeps busy is freed by the watch. Its affinity finds out with the next call.
func TestAReaderFindsOutThatItsThreadWasFreed(t *testing.T) {
	f := newTestAffinity(t)
	before := mayRunOn(t, unix.Gettid())
	f.drive([]uint32{7}, untilNear, slowCall, ownProcessor(t))
	require.True(t, f.near)
	f.pinning.freeAll()
	require.Equal(t, before, mayRunOn(t, unix.Gettid()))
	f.took(7, f.last+quickCall, true, unix.Gettid())
	require.False(t, f.near)
	require.Zero(t, f.rest, "it was no failure")
}

// Callers in a container that the daemon does not see have no number: they are not looked for in each window.
func TestNoReaderIsKeptNearACallerThatIsNotFound(t *testing.T) {
	f := newTestAffinity(t)
	f.drive([]uint32{0}, freeWindow+1, slowCall, noProcessor) // 0 is the caller from the beginning
	require.False(t, f.near)
	require.False(t, f.landing, "no processor is left for it")
	require.NotZero(t, f.rest)
	require.Empty(t, f.lastCPU.asked)
}
