//go:build jvsfs_hosts

package hosts

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// misled is a program whose daemon takes its time from a page in memory, as under torture. Nothing else of torture is switched on.
var misled = sync.OnceValues(func() (string, error) {
	out := filepath.Join(harness.Scratch, "misled", "jvsfs")
	return out, harness.BuildBinary(out, "-tags", "jvsfs_torture")
})

func misledBinary(t testing.TB) string {
	t.Helper()
	path, err := misled()
	require.NoError(t, err)
	return path
}

// wrongClock is the wall clock of a host. No namespace has one of its own.
type wrongClock struct {
	page        plan.Page
	environment string // of the host's daemons

	mu    sync.Mutex
	rnd   *rand.Rand
	wrong time.Duration // by so much when it was set
	rate  float64       // seconds in a second
	since time.Time
}

// newWrongClock is right until it jumps. It drifts until the test ends.
func newWrongClock(t testing.TB, h *host, rnd *rand.Rand) *wrongClock {
	t.Helper()
	page, err := plan.OpenPage(h.File("page"))
	require.NoError(t, err)
	p := plan.Daemon{Events: h.File("events"), Page: h.File("page")}
	k := &wrongClock{page: page, environment: plan.Env + "=" + p.JSON(), rnd: rnd}
	stop, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-over })
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				k.tick()
			}
		}
	}()
	return k
}

// tick shows what the clock has drifted.
func (k *wrongClock) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	drifted := time.Duration(k.rate * float64(time.Since(k.since)))
	k.page.Set(plan.PageWall, int64(k.wrong+drifted))
}

// jump sets the clock wrong by up to 5 s, and has it drift by up to a twentieth.
func (k *wrongClock) jump() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong = time.Duration(k.rnd.Int64N(int64(10*time.Second))) - 5*time.Second
	k.rate, k.since = k.rnd.Float64()/10-0.05, time.Now()
	return k.wrong.Round(time.Millisecond)
}

// setRight ends that.
func (k *wrongClock) setRight() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong, k.rate = 0, 0
	k.page.Set(plan.PageWall, 0)
}
