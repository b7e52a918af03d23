package goroutines

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waits ends when the channel is closed.
func waits(until <-chan struct{}) { <-until }

// waitsAndMore has the other's name in its own.
func waitsAndMore(until <-chan struct{}) { <-until }

// locks waits at a lock.
func locks(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// ends waits for nothing.
func ends() {}

func begin(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return done
}

func TestWhoWaitsInTheFunctionIsFound(t *testing.T) {
	over := make(chan struct{})
	done := begin(func() { time.Sleep(3 * pause); waits(over) }) // it comes there after the first look
	MustBlock(t, done, "goroutines.waits")
	require.NoError(t, mustBlock(done, "goroutines.TestWhoWaitsInTheFunctionIsFound", patience), "what it calls is in it, and a literal in it, too")
	close(over)
	<-done
	MustLeave(t, "goroutines.waits", "goroutines.begin")
}

func TestACallThatEndsDoesNotWait(t *testing.T) {
	require.ErrorContains(t, mustBlock(begin(ends), "goroutines.ends", patience), "did not wait")
	told := make(chan string, 1)
	told <- "what it has found"
	require.ErrorContains(t, mustBlock(told, "goroutines.ends", patience), "what it has found")
}

func TestWhoWaitsElsewhereDoesNotCount(t *testing.T) {
	over := make(chan struct{})
	var mu sync.Mutex
	mu.Lock()
	all := []<-chan struct{}{begin(func() { waitsAndMore(over) }), begin(func() { locks(&mu) }), begin(func() { MustBlock(t, over, "goroutines.waitsAndMore") })}
	<-all[2]
	for _, elsewhere := range []string{"goroutines.waits", "goroutines.locks", "goroutines.stacks"} {
		require.ErrorContains(t, mustBlock(over, elsewhere, 0), "nobody waits in "+elsewhere)
	}
	close(over)
	mu.Unlock()
	<-all[0]
	<-all[1]
}

func TestTheStateOfAGoroutineIsRead(t *testing.T) {
	for line, is := range map[string]bool{
		"goroutine 7 [select]:\n": true, "goroutine 7 [chan receive, 2 minutes]:\n": true, "goroutine 7 [select (durable), synctest bubble 3]:\n": true,
		"goroutine 7 gp=0x1 m=nil [chan send]:\n": true, "goroutine 7 [select (no cases)]:\n": true,
		"goroutine 7 [running]:\n": false, "goroutine 7 [runnable]:\n": false, "goroutine 7 [sync.Mutex.Lock]:\n": false, "goroutine 7 [syscall]:\n": false, "": false,
	} {
		require.Equal(t, is, isBlocked([]byte(line)), line)
	}
}
