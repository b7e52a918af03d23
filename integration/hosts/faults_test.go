//go:build jvsfs_hosts

package hosts

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// fault does one thing to one host or to the store, lets it be for a while, and makes it good. It returns when somebody was acknowledged
// something.
func (x *chaos) fault(ctx context.Context) {
	pause, lasts := x.span(time.Second, 4*time.Second), x.span(time.Second, 22*time.Second)
	if _, is := x.c.engine.(ceph); is && x.fenced { // before the session is stale nobody reads the record, and no agent runs
		lasts += 30 * time.Second
	}
	h, kind := x.hosts[x.rnd.IntN(len(x.hosts))], x.rnd.IntN(6)
	wait(ctx, pause)
	if ctx.Err() != nil {
		return
	}
	x.mend()
	x.befall(ctx, h, kind, lasts)
	x.mend()
	before := x.acknowledged()
	// After the end of ctx nobody appends any more; end() has both hosts append once more everywhere.
	for began := time.Now(); ctx.Err() == nil && x.acknowledged() == before; time.Sleep(5 * time.Millisecond) { // as EventuallyNoted
		x.mend()
		if time.Since(began) > x.c.engine.silence()+harness.Patience {
			x.c.t.Fatal("nobody is acknowledged a record" + x.logs())
		}
	}
}

// signal signals the host's client of the store. A host that others cut off may have none any more.
func (x *chaos) signal(h *host, name string) {
	x.c.t.Helper()
	if !x.fenced {
		h.Signal(name, h.clients())
		return
	}
	_, _ = h.Run(append([]string{"kill", "-" + name}, h.clientsIfAny()...)...)
}

func (x *chaos) befall(ctx context.Context, h *host, kind int, lasts time.Duration) {
	t := x.c.t
	switch kind {
	case 0:
		t.Logf("%s: the daemon is killed", h.Name)
		h.killDaemon()
		x.c.umountBare(h)
		x.mount(h)
	case 1:
		t.Logf("%s: the client of the store is killed", h.Name)
		if x.fenced { // it may be cut off meanwhile
			x.signal(h, "KILL")
			x.anew(h)
			return
		}
		x.c.anotherClient(h)
		x.mount(h)
	case 2:
		t.Logf("%s: its link is down for %v", h.Name, lasts)
		x.c.partition(h)
		wait(ctx, lasts)
		x.c.heal(h)
	case 3:
		t.Logf("%s: the client of the store is frozen for %v", h.Name, lasts)
		x.signal(h, "STOP")
		wait(ctx, lasts)
		x.signal(h, "CONT")
	case 4:
		t.Logf("the store: a server is killed")
		x.c.engine.strike(x.c)
	case 5:
		t.Logf("%s: its clock is wrong by %v for %v, and drifts", h.Name, x.clocks[h].jump(), lasts)
		wait(ctx, lasts)
		x.clocks[h].setRight()
	}
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
		for _, place := range x.places {
			all += sizeOf(acknowledgedTo(h, place))
		}
	}
	return all
}

func (x *chaos) logs() string {
	var all strings.Builder
	for _, h := range x.hosts {
		all.WriteString(h.Logs())
	}
	return all.String()
}

// daemons are the daemons of the host.
func (h *host) daemons() []string {
	h.T.Helper()
	pids := h.Processes("*\"/jvsfs mount \"*")
	require.NotEmpty(h.T, pids, "no daemon")
	return pids
}

// killDaemon kills the daemon of the host.
func (h *host) killDaemon() {
	h.T.Helper()
	h.Signal("KILL", h.daemons())
}

// restartClient kills the host's client of the store, and begins anew.
func (c *cluster) restartClient(h *host) {
	c.t.Helper()
	c.anotherClient(h)
	c.mount(h, hasty)
}

// anotherClient kills the host's client of the store, takes away what was mounted over it, and starts another.
func (c *cluster) anotherClient(h *host) {
	c.t.Helper()
	h.Signal("KILL", h.clients())
	c.umountBare(h)
	h.Must("umount", "-l", storeDir)
	c.connect(h)
}

// umountBare takes away a mount that is dead, or whose store is.
func (c *cluster) umountBare(h *host) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, h.Name+" takes its mount away", func() (bool, string) {
		said, exit := h.Run(c.bin, "umount", "--bare", viewDir)
		// It may fail for the store, with which it can release nothing, and have taken the mount away.
		return exit == 0 || strings.Contains(said, "E_NO_MOUNT"), said + h.Logs()
	})
}
