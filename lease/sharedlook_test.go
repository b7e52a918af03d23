package lease

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Writers write and ask, a successor appears at some time, and looks take as long as they like; each looks at the store at its very
// beginning. Who wrote when the successor was there is told so, and nobody is told so before. Nobody waits for more than two looks.
func TestASharedLookForASuccessorMissesNone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delay := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 20).Draw(rt, name)) * time.Millisecond
		}
		writers := make([][]time.Duration, rapid.IntRange(1, 6).Draw(rt, "writers"))
		for i := range writers {
			for range rapid.IntRange(1, 5).Draw(rt, "writes") {
				writers[i] = append(writers[i], delay("pause"))
			}
		}
		takes := make([]time.Duration, 40) // of the looks, one after the other
		for i := range takes {
			takes[i] = delay("look")
		}
		comes := 3 * delay("the successor comes")
		var wrong atomic.Pointer[string]
		synctest.Test(t, func(*testing.T) { checkSharedLooks(writers, takes, comes, func(s string) { wrong.Store(&s) }) })
		if s := wrong.Load(); s != nil {
			rt.Fatal(*s)
		}
	})
}

func checkSharedLooks(writers [][]time.Duration, takes []time.Duration, comes time.Duration, wrong func(string)) {
	var shared sharedLook
	var looks, under atomic.Int64
	began := time.Now()
	there := func() bool { return time.Since(began) >= comes }
	errLate := errors.New("late")
	look := func() error {
		if under.Add(1) != 1 {
			wrong("two looks at the same time")
		}
		defer under.Add(-1)
		found := there()
		time.Sleep(takes[int(looks.Add(1)-1)%len(takes)])
		if found {
			return errLate
		}
		return nil
	}
	longest := time.Duration(0)
	for _, d := range takes {
		longest = max(longest, d)
	}
	var all sync.WaitGroup
	for _, pauses := range writers {
		all.Go(func() {
			for _, p := range pauses {
				time.Sleep(p)
				late, asked := there(), time.Now() // the write has landed
				err := shared.ask(look)
				switch {
				case late && err == nil:
					wrong("a late write was not told")
				case err != nil && !there():
					wrong("a successor was told that was not there")
				case time.Since(asked) > 2*longest:
					wrong("somebody waited for longer than two looks")
				}
			}
		})
	}
	all.Wait()
}

// All that end while one look is under way are served by the next one.
func TestOneLookServesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared sharedLook
		looks := 0
		look := func() error { looks++; time.Sleep(time.Second); return nil }
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				require.NoError(t, shared.ask(look))
			})
		}
		all.Wait()
		require.Equal(t, 2, looks)
		require.NoError(t, shared.ask(look))
		require.Equal(t, 3, looks, "what was seen before does not count")
	})
}

// A look that does not return is no proof for those who joined it.
func TestALookThatPanicsServesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared sharedLook
		broken := func() error { time.Sleep(time.Second); panic("broken") }
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { require.Panics(t, func() { _ = shared.ask(broken) }) })
			synctest.Wait()
		}
		all.Go(func() { require.ErrorIs(t, shared.ask(broken), errNoAnswer) })
		all.Wait()
	})
}
