//go:build jvsfs_hosts

package etcd

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/history"
	"github.com/jvsfs/jvsfs/integration/machine"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// stoppableProgram is one whose daemon can stop itself between the gate's pass and the write. Nothing else of torture is switched on.
var stoppableProgram = sync.OnceValues(func() (string, error) {
	out := filepath.Join(harness.Scratch, "bin", "jvsfs-stoppable")
	return out, harness.BuildBinary(out, "-tags", "jvsfs_torture,jvsfs_etcd")
})

func stoppable(t testing.TB) string {
	t.Helper()
	program, err := stoppableProgram()
	require.NoError(t, err)
	return program
}

// Hosts append numbered records under leases that are in an etcd of three members, while what a schedule says befalls them, which
// follows from the seed. Then the histories are judged.
func TestChaos(t *testing.T) {
	minutes, _ := strconv.ParseFloat(os.Getenv("JVSFS_HOSTS_MINUTES"), 64)
	if minutes == 0 {
		t.Skip("JVSFS_HOSTS_MINUTES does not say for how long: scripts/hosts-test.sh --minutes")
	}
	seed, err := strconv.ParseUint(os.Getenv("JVSFS_HOSTS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	each := time.Duration(minutes * float64(time.Minute) / 2)
	t.Run("alone", func(t *testing.T) { chaos(t, seed, each, false) })
	t.Run("with a fence agent", func(t *testing.T) { chaos(t, seed, each, true) })
}

// A moment of it, for every change.
func TestQuickChaos(t *testing.T) { chaos(t, 1, 15*time.Second, false) }

func chaos(t *testing.T, seed uint64, span time.Duration, fenced bool) {
	w := newWorld(t, 3, fenced)
	x := &fates{world: w, rnd: rand.New(rand.NewPCG(seed, 0)), mended: map[*machine.Host]*sync.RWMutex{}} //nolint:gosec // a schedule that can be had again
	for _, h := range w.hosts {
		x.mended[h] = &sync.RWMutex{}
	}
	ctx, stop := context.WithTimeout(context.Background(), span)
	defer x.runs.Wait()
	defer stop()
	x.begin(ctx, seed)
	for x.befall(ctx) {
	}
	x.runs.Wait()
	v := x.end()
	fences := 0
	if fenced {
		fences = w.agent.fenced
	}
	t.Logf("seed %d, %v, %d faults, %d fences: %v", seed, span, x.faults, fences, v)
	require.Empty(t, v.Wrong)
	require.Positive(t, v.Changes)
	require.Zero(t, v.Stale+v.Lost)
	if fenced {
		require.Zero(t, v.Late, "a fenced host has written")
	}
}

// fates is what befalls the hosts of a world.
type fates struct {
	*world
	rnd    *rand.Rand
	faults int
	runs   sync.WaitGroup
	mended map[*machine.Host]*sync.RWMutex // nobody begins to append while the host is mended
}

// begin has the hosts append until the end of ctx.
func (x *fates) begin(ctx context.Context, seed uint64) {
	for i, h := range x.hosts {
		for j, place := range x.places {
			// Each has numbers of its own: the schedule stays the same however often they get the lease.
			rnd := rand.New(rand.NewPCG(seed, uint64(1+i*worldPlaces+j))) //nolint:gosec // as above
			x.runs.Go(func() { x.append(ctx, h, place, rnd) })
		}
	}
}

// appends is a command that appends n records in a worktree.
func (x *fates) appends(h *machine.Host, place, wait string, number, n int) []string {
	return []string{x.bin, "exec", "--wait", wait, viewDir + "/" + place, "--", "bash", h.File("appender"),
		h.Name, strconv.Itoa(number), strconv.Itoa(n), x.acknowledged(h, place), viewDir + "/" + place + "/records/log"}
}

// append has a host take a lease again and again, for some records each time. It calls nothing that ends the test.
func (x *fates) append(ctx context.Context, h *machine.Host, place string, rnd *rand.Rand) {
	out, err := os.Create(h.File("appends-" + idOf(place) + ".log"))
	if err != nil {
		return // nothing is acknowledged, and the test fails for that
	}
	defer out.Close() //nolint:errcheck // a log
	for number := 0; ctx.Err() == nil; {
		n, most := 1+rnd.IntN(20), time.Duration(rnd.Int64N(int64(4*time.Second)))
		before := x.othersAt(h, place)
		// A run of records that has begun ends, for the history needs to know what was acknowledged; the wait for the lease need not.
		cmd := h.Command(ctx, x.appends(h, place, "20s", number, n)...)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, time.Minute
		number += n
		x.mended[h].RLock()
		err := cmd.Run()
		x.mended[h].RUnlock()
		if err != nil { // refused, lost, or the mount is away
			most = 200 * time.Millisecond
		}
		x.turn(ctx, h, place, before, most)
	}
}

// turn leaves the lease to others: until one was acknowledged something, or some time has passed.
func (x *fates) turn(ctx context.Context, h *machine.Host, place string, before int64, most time.Duration) {
	over := time.After(most)
	for x.othersAt(h, place) == before && ctx.Err() == nil {
		select {
		case <-over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// end has all hosts append once more everywhere, so that nothing of chaos is under way, and judges.
func (x *fates) end() (all history.Verdict) {
	for _, h := range x.hosts {
		x.mend(h)
	}
	x.members.answer()
	for _, place := range x.places {
		for _, h := range x.hosts {
			harness.EventuallyNoted(x.t, h.Name+" appends once more to "+place, func() (bool, string) {
				x.mend(h)
				said, exit := h.Run(x.appends(h, place, "1m", 99999999, 1)...)
				return exit == 0, said + h.Logs()
			})
		}
	}
	for _, place := range x.places {
		all.Add(x.historyOf(place).Judge(), place)
	}
	for _, h := range x.hosts {
		h.Must(x.bin, "umount", viewDir)
	}
	return all
}

// mend makes good what may have befallen a host.
func (x *fates) mend(h *machine.Host) {
	x.t.Helper()
	x.pages[h].Set(plan.PageActive, 0)
	x.net.Heal(h)
	if pids := x.daemons(h); len(pids) > 0 {
		_, _ = h.Run(append([]string{"kill", "-CONT"}, pids...)...) // an agent may have ended it meanwhile
	}
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > 5*time.Second {
			x.t.Logf("%s: it took %v until it had its mount again", h.Name, took.Round(time.Second))
		}
	}()
	harness.EventuallyNoted(x.t, h.Name+" has its mount", func() (bool, string) {
		if len(x.daemons(h)) > 0 {
			return true, ""
		}
		x.mended[h].Lock() // who tries again and again keeps a dead mount busy
		defer x.mended[h].Unlock()
		x.umountBare(h)
		said, exit := h.Run(x.mountArgs(h)...)
		return exit == 0, said + h.Logs()
	})
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
