package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	quickCall = 10 * time.Microsecond
	slowCall  = 30 * time.Microsecond
)

// several has a trial take calls until it gives advice, or most of them.
func (p *affinityTrial) several(took time.Duration, most int) (advice, int) {
	for n := 1; n <= most; n++ {
		if a := p.call(took); a != goOn {
			return a, n
		}
	}
	return goOn, most
}

// nearTrial is a trial whose reader was free with slowCall and is near now.
func nearTrial(t *testing.T) *affinityTrial {
	t.Helper()
	p := &affinityTrial{}
	a, n := p.several(slowCall, 1000)
	require.Equal(t, comeNear, a)
	require.Equal(t, freeWindow, n)
	p.came()
	return p
}

func TestAReaderStaysNearWhileItPays(t *testing.T) {
	p := nearTrial(t)
	a, _ := p.several(quickCall, 100*nearWindow)
	require.Equal(t, goOn, a)
	require.True(t, p.near)
}

// A call that waits for the disk, or for a processor, is no reason to go.
func TestAReaderStaysNearIfOneCallIsSlow(t *testing.T) {
	p := nearTrial(t)
	for range 100 {
		a, _ := p.several(quickCall, nearWindow-1)
		require.Equal(t, goOn, a)
		require.Equal(t, goOn, p.call(time.Second))
	}
}

// The kernel moves callers. The reader comes after, but not for ever.
func TestAReaderComesAfterItsCallerAndGivesUp(t *testing.T) {
	p := nearTrial(t)
	for range chasesMax {
		a, n := p.several(slowCall, 1000)
		require.Equal(t, comeNear, a)
		require.LessOrEqual(t, n, nearSettle+nearWindow)
		p.came()
	}
	a, _ := p.several(slowCall, 1000)
	require.Equal(t, letGo, a)
}

func TestAReaderFollowsItsCallerAnewAfterAWindowThatPays(t *testing.T) {
	p := nearTrial(t)
	for range 10 * chasesMax {
		a, _ := p.several(quickCall, nearSettle+nearWindow)
		require.Equal(t, goOn, a)
		a, _ = p.several(slowCall, 1000)
		require.Equal(t, comeNear, a)
		p.came()
	}
}

// Some calls are quick each time that the reader comes, and all together are not.
func TestAReaderGivesUpACallerThatGoesAgainAndAgain(t *testing.T) {
	p := nearTrial(t)
	for n := range 100 {
		a, _ := p.several(quickCall, nearSettle+nearWindow)
		if a == goOn {
			a, _ = p.several(2*slowCall, 1000)
		}
		if a == letGo {
			require.Less(t, n, 2*spellCalls/nearWindow)
			return
		}
		p.came()
	}
	t.Fatal("it has never given up")
}

// A reader that makes calls much slower goes before it has come after its caller many times.
func TestAReaderThatMakesCallsSlowerGoesSoon(t *testing.T) {
	p := nearTrial(t)
	for calls := 0; calls <= hopelessCalls+nearSettle+nearWindow; {
		a, n := p.several(2*slowCall, 1000)
		if calls += n; a == letGo {
			require.GreaterOrEqual(t, calls, hopelessCalls)
			return
		}
		require.Equal(t, comeNear, a)
		p.came()
	}
	t.Fatal("it stays")
}

// A reader that is free does what it did at the start of a program, or better. That is found out now and then, and when near gets slower.
func TestTheSpeedOfAFreeReaderIsMeasuredAgain(t *testing.T) {
	p := nearTrial(t)
	a, n := p.several(quickCall, 1<<20)
	require.Equal(t, compare, a)
	require.InDelta(t, freeLasts, n, spellCalls)

	p = nearTrial(t)
	a, _ = p.several(quickCall, 4*spellCalls)
	require.Equal(t, goOn, a)
	a, n = p.several(slowCall*4/5, 1<<20) // which still pays beside slowCall
	require.Equal(t, compare, a)
	require.Less(t, n, 4*spellCalls)
	p.left()
	a, n = p.several(quickCall*3/2, 1000)
	require.Equal(t, comeNear, a)
	require.LessOrEqual(t, n, freeSettle+freeWindow)
	p.came()
	a, _ = p.several(slowCall*4/5, 1<<20)
	require.NotEqual(t, goOn, a)
}

// One window that pays does not forgive the failures before it.
func TestFailuresOfAReaderNearItsCallerAreForgivenWhenItHasPaid(t *testing.T) {
	p := nearTrial(t)
	p.failures = 5
	_, _ = p.several(quickCall, spellCalls/2)
	require.Equal(t, uint(5), p.failures)
	_, _ = p.several(quickCall, spellCalls)
	require.Zero(t, p.failures)
}

// What does not pay is tried less and less often, but is tried: the load changes.
func TestAReaderIsKeptNearLessOftenIfItDoesNotPay(t *testing.T) {
	p := nearTrial(t)
	before := 0
	for range 2 * trialFailuresMax {
		p.failed()
		p.left()
		a, n := p.several(slowCall, 1<<20)
		require.Equal(t, comeNear, a)
		require.GreaterOrEqual(t, n, before)
		before = n
		p.came()
	}
	require.Greater(t, before, trialRest<<(trialFailuresMax-1))
	require.Less(t, before, trialRest<<(trialFailuresMax+1))
}

// Where both do the same nothing is won. When the free reader gets slow near is tried at once.
func TestAReaderIsKeptNearAtOnceWhenCallsGetSlow(t *testing.T) {
	p := &affinityTrial{}
	_, _ = p.several(quickCall, 1000)
	p.failures = trialFailuresMax
	p.failed()
	p.left()
	a, _ := p.several(quickCall, 100*freeWindow)
	require.Equal(t, goOn, a)
	a, n := p.several(2*quickCall, 1000)
	require.Equal(t, comeNear, a)
	require.LessOrEqual(t, n, 2*freeWindow)
}
