//go:build jvsfs_hosts

package hosts

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// hasty is for chaos: as many ends of leases as fit into the time.
var hasty = times{lease: 6 * time.Second, renew: 2 * time.Second, skew: time.Second, grace: 500 * time.Millisecond}

// chaos is two hosts that append records, and what befalls them.
type chaos struct {
	c     *cluster
	hosts []*host
	rnd   *rand.Rand
	runs  sync.WaitGroup
}

// Two hosts append numbered records under the lease while their daemons and their clients of the store are killed, their links are cut
// and their clients freeze, by a schedule that follows from the seed. Then the history is judged.
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
	c := newCluster(t)
	// A partition is to end a lease within seconds.
	c.engine.hasty(c)
	x := &chaos{c: c, hosts: []*host{c.join("h1"), c.join("h2")}, rnd: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a schedule that can be had again
	for _, h := range x.hosts {
		h.must("mkdir", "-p", storeDir+"/work/records")
		c.mount(h, hasty)
		require.NoError(t, os.WriteFile(h.file("appender"), []byte(appender), 0o644))
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(minutes)*time.Minute)
	defer x.runs.Wait()
	defer stop()
	for i, h := range x.hosts {
		// Each has numbers of its own: the schedule stays the same however often they get the lease.
		rnd := rand.New(rand.NewPCG(seed, uint64(i+1))) //nolint:gosec // as above
		x.runs.Go(func() { x.append(ctx, h, rnd) })
	}
	faults := 0
	for ctx.Err() == nil {
		faults++
		x.fault(ctx)
	}
	x.runs.Wait()
	v := x.end()
	t.Logf("seed %d, %d minutes, %d faults: %d epochs, %d changes of host, %d acknowledged, %d more stored, %d of them late, %d torn lines",
		seed, minutes, faults, v.epochs, v.changes, v.acknowledged, v.unacknowledged, v.late, v.torn)
	require.Empty(t, v.wrong)
	require.Greater(t, v.changes, minutes)
}

// append has a host take the lease again and again, for some records each time. It calls nothing that ends the test.
func (x *chaos) append(ctx context.Context, h *host, rnd *rand.Rand) {
	out, err := os.Create(h.file("appends.log"))
	if err != nil {
		return // nothing is acknowledged, and the test fails for that
	}
	defer out.Close() //nolint:errcheck // a log
	for number := 0; ctx.Err() == nil; {
		n := 1 + rnd.IntN(60)
		// A run of records that has begun ends, for the history needs to know what was acknowledged; the wait for the lease need not.
		cmd := h.command(ctx, x.c.bin, "exec", "--wait", "20s", viewDir, "--", "bash", h.file("appender"),
			h.name, strconv.Itoa(number), strconv.Itoa(n), h.file("acknowledged"))
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, time.Minute
		number += n
		if cmd.Run() != nil { // refused, lost, or the mount is away
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// fault does one thing to one host, lets it be for a while, and makes it good. It returns when somebody was acknowledged something.
func (x *chaos) fault(ctx context.Context) {
	t := x.c.t
	pause, lasts := x.span(time.Second, 4*time.Second), x.span(time.Second, 22*time.Second)
	h, kind := x.hosts[x.rnd.IntN(len(x.hosts))], x.rnd.IntN(4)
	wait(ctx, pause)
	if ctx.Err() != nil {
		return
	}
	switch kind {
	case 0:
		t.Logf("%s: the daemon is killed", h.name)
		h.killDaemon()
		x.c.remount(h, hasty)
	case 1:
		t.Logf("%s: the client of the store is killed", h.name)
		x.c.restartClient(h)
	case 2:
		t.Logf("%s: its link is down for %v", h.name, lasts)
		x.c.partition(h)
		wait(ctx, lasts)
		x.c.heal(h)
	case 3:
		t.Logf("%s: the client of the store is frozen for %v", h.name, lasts)
		h.freeze()
		wait(ctx, lasts)
		h.thaw()
	}
	before := x.acknowledged()
	harness.EventuallyNoted(t, "somebody is acknowledged a record", func() (bool, string) {
		return x.acknowledged() > before, x.logs()
	})
}

// span is a time of the schedule.
func (x *chaos) span(least, most time.Duration) time.Duration {
	return least + time.Duration(x.rnd.Int64N(int64(most-least)))
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// acknowledged is how many bytes of records were.
func (x *chaos) acknowledged() (all int64) {
	for _, h := range x.hosts {
		if info, err := os.Stat(h.file("acknowledged")); err == nil {
			all += info.Size()
		}
	}
	return all
}

func (x *chaos) logs() string {
	var all strings.Builder
	for _, h := range x.hosts {
		all.WriteString(h.logs())
	}
	return all.String()
}

// end has both hosts append once more, so that nothing of chaos is under way, and judges.
func (x *chaos) end() verdict {
	t, all := x.c.t, history{acknowledged: map[record]bool{}}
	for _, h := range x.hosts {
		harness.EventuallyNoted(t, h.name+" appends once more", func() (bool, string) {
			said, exit := h.run(x.c.bin, "exec", "--wait", "1m", viewDir, "--", "bash", h.file("appender"), h.name, "99999999", "1", h.file("acknowledged"))
			return exit == 0, said + h.logs()
		})
	}
	for _, h := range x.hosts {
		all.acknowledgedTo(t, h.file("acknowledged"))
		x.c.umount(h)
	}
	all.stored = linesOf(x.c.stored("records/log"))
	return all.judge()
}

// daemons are the daemons of the host.
func (h *host) daemons() []string {
	h.t.Helper()
	pids := h.processes("*\"/jvsfs mount \"*")
	require.NotEmpty(h.t, pids, "no daemon")
	return pids
}

// killDaemon kills the daemon of the host.
func (h *host) killDaemon() {
	h.t.Helper()
	h.signal("KILL", h.daemons())
}

// restartClient kills the host's client of the store, and begins anew.
func (c *cluster) restartClient(h *host) {
	c.t.Helper()
	h.signal("KILL", h.clients())
	c.umountBare(h)
	h.must("umount", "-l", storeDir)
	c.connect(h)
	c.mount(h, hasty)
}

// umountBare takes away a mount that is dead, or whose store is.
func (c *cluster) umountBare(h *host) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, h.name+" takes its mount away", func() (bool, string) {
		said, exit := h.run(c.bin, "umount", "--bare", viewDir)
		// It may fail for the store, with which it can release nothing, and have taken the mount away.
		return exit == 0 || strings.Contains(said, "E_NO_MOUNT"), said + h.logs()
	})
}

// remount mounts again after the end of a daemon.
func (c *cluster) remount(h *host, p times) {
	c.t.Helper()
	c.umountBare(h)
	c.mount(h, p)
}
