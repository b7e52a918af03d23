package fusefs

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

// newTestFollower is a follower of a reader's thread, which is this one. Its scout is the test.
func newTestFollower(t *testing.T) *follower {
	runtime.LockOSThread()
	before := mayRunOn(t, unix.Gettid())
	f := &follower{moored: newMoored(), scout: newScout(), stopgap: &stopgap{}}
	t.Cleanup(func() {
		f.letGo()
		require.Equal(t, before, mayRunOn(t, unix.Gettid()), "the thread may run where it could before")
		runtime.UnlockOSThread()
	})
	return f
}

func mayRunOn(t *testing.T, thread int) (may unix.CPUSet) {
	t.Helper()
	require.NoError(t, unix.SchedGetaffinity(thread, &may))
	return may
}

// drive has a caller make calls, each after the same time. The scout finds it on a processor.
func (f *follower) drive(callers []uint32, n int, each time.Duration, on int) {
	for i := range n {
		select {
		case thread := <-f.scout.asked:
			f.scout.found <- whereabouts{thread, on}
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

// untilNear is how many calls of a new caller bring the reader near: the last one finds the scout's answer.
const untilNear = othersMax + 1 + paceSettle + paceWindow + 1

func TestAReaderIsKeptNearOneCaller(t *testing.T) {
	f := newTestFollower(t)
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
	f := newTestFollower(t)
	before := mayRunOn(t, unix.Gettid())
	for _, callers := range [][]uint32{{7, 8}, {7, 8, 9}, {7, 7, 8, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}} {
		f.drive(callers, 100*paceWindow, slowCall, ownProcessor(t))
		require.False(t, f.near)
		require.Equal(t, before, mayRunOn(t, unix.Gettid()))
		require.Empty(t, f.scout.asked, "nobody is looked for")
	}
	for range 100 * paceWindow { // the same caller, and each time another reader was waiting too
		f.took(7, f.last+slowCall, false, unix.Gettid())
	}
	require.False(t, f.near)
}

// Near, and as slow as before: it was not the processor.
func TestAReaderIsFreeAgainIfNearDoesNotPay(t *testing.T) {
	f := newTestFollower(t)
	f.drive([]uint32{7}, 3*paceWindow, slowCall, ownProcessor(t))
	require.False(t, f.near)
	require.NotZero(t, f.rest)
}

// A slow window with the caller beside its reader was slow for another reason, if near has paid so far. It ends when it no longer does.
func TestAReaderThatIsBesideItsCallerStaysWhileNearHasPaid(t *testing.T) {
	f := newTestFollower(t)
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
	f := newTestFollower(t)
	f.drive([]uint32{7}, 3*paceWindow, slowCall, 1023)
	require.False(t, f.near)
	require.NotZero(t, f.rest, "the scout is not asked in each window")
}

// The answer of the scout may come when its caller has been left.
func TestAnAnswerOfTheScoutAboutAnotherCallerIsDropped(t *testing.T) {
	f := newTestFollower(t)
	f.drive([]uint32{7}, untilNear-1, slowCall, 0)
	require.Len(t, f.scout.asked, 1)
	<-f.scout.asked
	f.scout.found <- whereabouts{9, ownProcessor(t)}
	f.took(7, f.last+slowCall, true, unix.Gettid())
	require.False(t, f.near)
}

// The answer of the scout may come when near has failed.
func TestALateAnswerOfTheScoutMovesNoReader(t *testing.T) {
	f := newTestFollower(t)
	at := ownProcessor(t)
	f.drive([]uint32{7}, untilNear, slowCall, at)
	for f.near {
		f.took(7, f.last+2*slowCall, true, unix.Gettid()) // nobody answers
	}
	require.NotZero(t, f.rest)
	<-f.scout.asked
	f.scout.found <- whereabouts{7, at}
	f.took(7, f.last+slowCall, true, unix.Gettid())
	require.False(t, f.near)
}

// A thread whose processor somebody else keeps busy is freed by the watch. Its follower finds out with the next call.
func TestAFollowerFindsOutThatItsThreadWasFreed(t *testing.T) {
	f := newTestFollower(t)
	before := mayRunOn(t, unix.Gettid())
	f.drive([]uint32{7}, untilNear, slowCall, ownProcessor(t))
	require.True(t, f.near)
	f.moored.freeAll()
	require.Equal(t, before, mayRunOn(t, unix.Gettid()))
	f.took(7, f.last+quickCall, true, unix.Gettid())
	require.False(t, f.near)
	require.Zero(t, f.rest, "it was no failure")
}

// Callers in a container that the daemon does not see have no number: they are not looked for in each window.
func TestNoReaderFollowsACallerThatIsNotFound(t *testing.T) {
	f := newTestFollower(t)
	f.drive([]uint32{0}, paceWindow+1, slowCall, noProcessor) // 0 is the caller from the beginning
	require.False(t, f.near)
	require.False(t, f.landing, "no processor is left for it")
	require.NotZero(t, f.rest)
	require.Empty(t, f.scout.asked)
}

// The kernel's own record of a thread that may run on one processor only.
func TestTheScoutFindsAThreadOnItsProcessor(t *testing.T) {
	f := newTestFollower(t)
	at := ownProcessor(t)
	_, ok := f.moored.keep(unix.Gettid(), at)
	require.True(t, ok)
	defer f.moored.freeAll()
	require.Equal(t, at, processorOf(uint32(unix.Gettid())))
	ended := make(chan struct{})
	go func() { defer close(ended); f.scout.run() }()
	f.scout.ask(1 << 30)
	require.Equal(t, whereabouts{1 << 30, noProcessor}, <-f.scout.found)
	f.scout.ask(uint32(unix.Gettid()))
	require.Equal(t, whereabouts{uint32(unix.Gettid()), at}, <-f.scout.found)
	f.scout.end()
	<-ended
}

// A processor is kept busy until it is dropped, but not for ever. Afterwards the thread may run anywhere again.
func TestABusyLoopOnAProcessorEndsByItself(t *testing.T) {
	f := newTestFollower(t)
	anywhere := mayRunOn(t, unix.Gettid())
	ended := make(chan struct{})
	go func() { defer close(ended); f.stopgap.run() }()
	require.Eventually(t, func() bool { return f.stopgap.bell.Load() != 0 }, patience, time.Millisecond)
	thread := int(f.stopgap.thread.Load())
	for range 3 {
		slept := sleepsOf(t, thread)
		f.stopgap.hold(ownProcessor(t))
		if runtime.GOMAXPROCS(0) > 1 {
			require.Eventually(t, func() bool { return sleepsOf(t, thread) > slept }, patience, time.Millisecond)
		}
		require.Eventually(t, func() bool { return mayRunOn(t, thread) == anywhere }, patience, time.Millisecond)
		f.stopgap.drop()
	}
	f.stopgap.hold(ownProcessor(t))
	f.stopgap.end()
	<-ended
	f.stopgap.close()
}

func TestABusyLoopRunsOnTheProcessorThatItIsGiven(t *testing.T) {
	_ = newTestFollower(t) // keeps this thread, and looks at it at the end
	anywhere, at := mayRunOn(t, unix.Gettid()), ownProcessor(t)
	var s stopgap
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

// A channel may end before its stopgap has begun.
func TestABusyLoopThatHasEndedDoesNotBegin(t *testing.T) {
	var s stopgap
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
