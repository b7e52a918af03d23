//go:build jvsfs_hosts

package etcd

import (
	"context"
	"time"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// kinds are what may befall, as often as they stand here.
var kinds = []int{0, 1, 2, 2, 3, 3, 3, 4, 5, 6}

// befall does one thing to one host or to etcd, lets it be for a while, and makes it good. It returns when somebody was acknowledged
// something. False: the time is over.
func (x *fates) befall(ctx context.Context) bool {
	pause, lasts := x.span(500*time.Millisecond, 3*time.Second), x.span(time.Second, 14*time.Second)
	h, m, kind := x.hosts[x.rnd.IntN(len(x.hosts))], x.members.all[x.rnd.IntN(len(x.members.all))], kinds[x.rnd.IntN(len(kinds))]
	wait(ctx, pause)
	if ctx.Err() != nil {
		return false
	}
	x.faults++
	switch kind {
	case 0:
		x.t.Logf("%s: the daemon is killed", h.Name)
		h.Signal("KILL", x.daemons(h))
	case 1:
		h.Signal("KILL", x.daemons(h))
		said, exit := h.Run(x.mountArgs(h, "--recover")...)
		x.t.Logf("%s: the daemon is killed, and recovered: exit code %d %s", h.Name, exit, said)
	case 2:
		x.t.Logf("%s: its link is down for %v", h.Name, lasts)
		x.net.Cut(h)
		wait(ctx, lasts)
	case 3:
		x.t.Logf("%s: the daemon stops in the middle of a write, for %v", h.Name, lasts)
		x.pages[h].Set(plan.PageActive, 1)
		wait(ctx, lasts)
	case 4, 5:
		what := "a member"
		if kind == 4 {
			m, what = x.members.leader(), "the leader"
		}
		x.t.Logf("%s, %s of etcd, is killed, and away for %v", m.Name, what, lasts)
		x.members.kill(m)
		wait(ctx, lasts)
		x.members.start(m)
	case 6:
		m = x.members.leader()
		x.t.Logf("%s, the leader of etcd, is cut off for %v", m.Name, lasts)
		x.net.Cut(m)
		wait(ctx, lasts)
		x.net.Heal(m)
	}
	before := x.othersAt(nil, "")
	harness.EventuallyNoted(x.t, "somebody is acknowledged a record", func() (bool, string) {
		for _, h := range x.hosts {
			x.mend(h) // again: who comes back may be cut off by an agent that runs already
		}
		return x.othersAt(nil, "") > before, x.logs()
	})
	return true
}

// span is a time of the schedule.
func (x *fates) span(least, most time.Duration) time.Duration {
	return least + time.Duration(x.rnd.Int64N(int64(most-least)))
}
