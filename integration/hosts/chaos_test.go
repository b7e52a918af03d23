//go:build jvsfs_hosts

package hosts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/history"
)

// hasty is for chaos: as many ends of leases as fit into the time.
var hasty = times{lease: 6 * time.Second, renew: 2 * time.Second, skew: time.Second, grace: 500 * time.Millisecond}

// chaosPlaces is how many worktrees the hosts share. Each has leases and a history of its own, so while one waits for the end of a
// lease the others go on.
const chaosPlaces = 6

// chaos is two hosts that append records in the worktrees of a repository, and what befalls them.
type chaos struct {
	c      *cluster
	hosts  []*host
	clocks map[*host]*wrongClock
	places []string // roots of worktrees, below the repository's
	rnd    *rand.Rand
	runs   sync.WaitGroup
	fenced bool // each has the agent that cuts the other off
	relies bool // and relies on it (rely_on_fence)
	cuts   int  // hosts that were let in again
}

// Two hosts append numbered records under leases while their daemons, their clients of the store and its servers are killed, their
// links are cut, their clients freeze and their clocks are wrong, by a schedule that follows from the seed. Then the histories are judged.
func TestChaos(t *testing.T) {
	minutes, err := strconv.Atoi(os.Getenv("JVSFS_HOSTS_MINUTES"))
	if err != nil || minutes == 0 {
		t.Skip("JVSFS_HOSTS_MINUTES does not say for how long: scripts/hosts-test.sh --minutes")
	}
	seed, err := strconv.ParseUint(os.Getenv("JVSFS_HOSTS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("seed %d, %d minutes", seed, minutes)
	x := newChaos(t, seed)
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(minutes)*time.Minute)
	defer x.runs.Wait()
	defer stop()
	x.begin(ctx, seed)
	faults := 0
	for ctx.Err() == nil {
		faults++
		x.fault(ctx)
	}
	x.runs.Wait()
	v := x.end()
	t.Logf("%s, seed %d, %d minutes, %d faults: %v", x.c.engine.title(), seed, minutes, faults, v)
	if x.fenced {
		t.Logf("%d fences, %d times that the agent failed, %d times a host was let in again", strings.Count(x.trail(), `"host_fenced"`),
			strings.Count(x.trail(), `"host_fence_failed"`), x.cuts)
	}
	require.Empty(t, v.Wrong, "%s", x.trail())
	if x.fenced {
		require.Zero(t, v.Late+v.Over, "a host that was cut off has written: %s", x.trail())
	}
	require.Greater(t, v.Changes, minutes)
}

// newChaos mounts the repository on both hosts.
func newChaos(t *testing.T, seed uint64) *chaos {
	c := newCluster(t)
	c.bin = misledBinary(t)
	c.engine.hasty(c) // a partition is to end a lease within seconds
	x := &chaos{c: c, hosts: []*host{c.join("h1"), c.join("h2")}, clocks: map[*host]*wrongClock{}, places: []string{"main"},
		fenced: os.Getenv("JVSFS_HOSTS_AGENT") != "", relies: os.Getenv("JVSFS_HOSTS_RELY") != "", rnd: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a schedule that can be had again
	for i := 1; i < chaosPlaces; i++ {
		x.places = append(x.places, fmt.Sprintf("worktrees/w%d", i))
	}
	for _, place := range x.places {
		x.hosts[0].Must("mkdir", "-p", sourceDir+"/.jvs", sourceDir+"/"+place+"/records")
	}
	for i, h := range x.hosts {
		appender := history.Appender
		if x.relies {
			appender = history.SyncingAppender
		}
		require.NoError(t, os.WriteFile(h.File("appender"), []byte(appender), 0o644))
		x.clocks[h] = newWrongClock(t, h, rand.New(rand.NewPCG(seed, uint64(100+i)))) //nolint:gosec // as above
		if x.fenced {
			c.shipped(h, x.hosts[1-i])
		}
		x.mount(h)
		require.FileExists(t, h.File("events"), "the daemon takes its time from the page")
	}
	return x
}

// mount is cluster.mount for a repository, which has its records in it, by a daemon that can be told a wrong time.
func (x *chaos) mount(h *host) {
	x.c.t.Helper()
	if !x.fenced {
		h.Must(x.mountArgs(h)...)
		return
	}
	harness.EventuallyNoted(x.c.t, h.Name+" mounts", func() (bool, string) {
		if h.isCut() || x.evicted(h) {
			x.anew(h)
			return true, ""
		}
		said, exit := h.Run(append(bounded, x.mountArgs(h)...)...)
		return exit == 0, said + h.Logs()
	})
}

func (x *chaos) mountArgs(h *host) []string {
	args := []string{"env", x.clocks[h].environment, x.c.bin, "mount", sourceDir, viewDir, "--log-file", h.File("daemon.log")}
	if x.fenced {
		args = append(args, "--config", h.File("jvsfs.yaml"))
	}
	if x.relies {
		args = append(args, "--rely-on-fence")
	}
	return append(args, hasty.args()...)
}

// begin has the hosts append until the end of ctx.
func (x *chaos) begin(ctx context.Context, seed uint64) {
	for i, h := range x.hosts {
		for j, place := range x.places {
			// Each has numbers of its own: the schedule stays the same however often they get the lease.
			rnd := rand.New(rand.NewPCG(seed, uint64(1+i*chaosPlaces+j))) //nolint:gosec // as above
			x.runs.Go(func() { x.append(ctx, h, place, rnd) })
		}
	}
}

// end has both hosts append once more everywhere, so that nothing of chaos is under way, and judges.
func (x *chaos) end() (all history.Verdict) {
	t := x.c.t
	for _, h := range x.hosts {
		x.clocks[h].setRight()
		h.Most = 5 * time.Minute // engine.silence, and the lease
		for _, place := range x.places {
			harness.EventuallyNoted(t, h.Name+" appends once more to "+place, func() (bool, string) {
				x.mend()
				said, exit := h.Run(x.appends(h, place, "4m", 99999999, 1)...)
				return exit == 0, said + h.Logs()
			})
		}
	}
	for _, place := range x.places {
		all.Add(x.historyOf(place).Judge(), place)
	}
	x.mend()
	for _, h := range x.hosts {
		x.c.umount(h)
	}
	return all
}

// seen is a file of the repository's own, as the store sees it.
func (x *chaos) seen(name string) string {
	return filepath.Join(x.c.engine.sees(x.c), sourceName, ".jvs", name)
}

// trail is what the audit chain has of the leases.
func (x *chaos) trail() string {
	said, _ := x.c.store.Run("sh", "-c", "cat "+x.seen("audit/audit.jsonl"))
	return said
}

// historyOf is what was acknowledged and what is stored of a worktree.
func (x *chaos) historyOf(place string) history.History {
	all := history.New()
	for _, h := range x.hosts {
		all.AcknowledgedTo(x.c.t, acknowledgedTo(h, place))
	}
	all.Stored = history.Lines(x.c.stored(place + "/records/log"))
	all.ReportedBy(x.c.t, x.c.store.Sh("cd "+x.seen("locks")+" && cat "+id(place)+".taint.* 2>/dev/null || true"))
	return all
}
