package daemon

import (
	"time"

	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// meterReading has the values of all metrics, at about one moment.
type meterReading struct {
	At           time.Time
	Enforce      string
	Waiting      int64 // mutations
	Stats        fusefs.Stats
	Timings      []fusefs.Timing
	Worktrees    []worktreeReading
	Refusals     map[refusedKind]uint64
	MoreRefusals uint64 // of kinds beyond those that are counted apart
	Requests     map[requestKind]uint64
	TurnedAway   [turnedReasons]uint64
	Suppressed   uint64 // log lines
	Rules        []tenure.Counts
	Etcd         *lease.RemoteCounts // nil: the lock directory decides
}

// worktreeReading is one worktree and its lease.
type worktreeReading struct {
	gate.Status
	Created time.Time // when the lease was taken; zero if nobody holds it
	Waiters int       // in the line for the lease
	Counts  leaseCountsOf
}

// meters reads every counter. It also looks at lease records, and waits for the lock directory as long as survey does.
func (d *metering) meters() meterReading {
	r := meterReading{
		At: time.Now(), Enforce: string(d.mode.status().Enforce), Waiting: d.mode.Waiting(), Stats: d.fs.Stats(), Timings: d.fs.Timings(), Suppressed: d.suppressed.Count(), Rules: d.book.Counts(),
	}
	if d.authority != nil {
		c := d.authority.Counts()
		r.Etcd = &c
	}
	there, over := d.survey()
	for _, w := range there {
		r.Worktrees = append(r.Worktrees, w.reading(w.status, d.far))
	}
	// They would take the room of kinds that are counted apart.
	d.counts.refusals.drop(func(k refusedKind) bool { return over[k.worktree] })
	r.Refusals, r.MoreRefusals = d.counts.refusals.all()
	r.Requests, _ = d.counts.requests.all()
	for why := range r.TurnedAway {
		r.TurnedAway[why] = d.counts.turned[why].Load()
	}
	return r
}

func (w *worktree) reading(st gate.Status, far bool) worktreeReading {
	r := worktreeReading{Status: st, Waiters: w.guard.Queue().Waiting(), Counts: w.counts.now()}
	if far {
		if seen, _ := w.glance.last(); seen.head.Record != nil && !seen.head.Record.Released {
			r.Created = seen.head.Record.CreatedAt
		}
	} else if head, j := w.keeper.Observe(); head.Record != nil && j.State != lease.Free {
		r.Created = head.Record.CreatedAt
	}
	return r
}
