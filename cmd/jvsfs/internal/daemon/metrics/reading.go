package metrics

import (
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// reading has the values of all metrics, at about one moment.
type reading struct {
	At           time.Time
	Enforce      string
	Waiting      int64 // mutations
	Stats        fusefs.Stats
	Timings      []fusefs.Timing
	Worktrees    []WorktreeReading
	Refusals     map[refusedKind]uint64
	MoreRefusals uint64 // of kinds beyond those that are counted apart
	Requests     map[requestKind]uint64
	TurnedAway   [turnedReasons]uint64
	Suppressed   uint64 // log lines
	Rules        []tenure.Counts
	Etcd         *lease.RemoteCounts // nil: the lock directory decides
}

// WorktreeReading is one worktree and its lease.
type WorktreeReading struct {
	gate.Status
	Created time.Time // when the lease was taken; zero if nobody holds it
	Waiters int       // in the line for the lease
	Counts  leaseCountsOf
}

// Sources are what the metrics of a mount are made from.
type Sources struct {
	FileSystem interface {
		Stats() fusefs.Stats
		Timings() []fusefs.Timing
	}
	Mode interface {
		Mode() gate.Enforce
		Waiting() int64 // mutations
	}
	LogLines  interface{ Count() uint64 }                                      // that were left out
	Rules     func() []tenure.Counts                                           // of the locks of other programs
	Etcd      interface{ Counts() lease.RemoteCounts }                         // nil: the lock directory decides
	Worktrees func() (there []WorktreeReading, over map[lease.WorktreeID]bool) // it may look at lease records, and waits for them as long as it will
}

// Meter makes the metrics of a mount from its counters, for each scrape anew.
type Meter struct {
	*Server // nil: not asked for
	counts  *Counts
	from    Sources
}

// New makes the server of an address, too, in the form of mountcfg.ParseMetrics; "" makes none. Nothing listens yet.
func New(address string, from Sources, counts *Counts, log *zap.Logger) (*Meter, error) {
	m := &Meter{counts: counts, from: from}
	var err error
	m.Server, err = newServer(address, collector{m.read}, log)
	return m, err
}

// Answer is what the server of metrics says, for a client of the control socket: the exporter of all mounts.
func (m *Meter) Answer() (api.Response, error) {
	all, err := collector{m.read}.Gather()
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(api.MetricsText{Text: metrics.Text(all)})
}

// read reads every counter.
func (m *Meter) read() reading {
	fs := m.from.FileSystem
	r := reading{
		At: time.Now(), Enforce: string(m.from.Mode.Mode()), Waiting: m.from.Mode.Waiting(), Stats: fs.Stats(), Timings: fs.Timings(), Suppressed: m.from.LogLines.Count(), Rules: m.from.Rules(),
	}
	if m.from.Etcd != nil {
		c := m.from.Etcd.Counts()
		r.Etcd = &c
	}
	var over map[lease.WorktreeID]bool
	r.Worktrees, over = m.from.Worktrees()
	// They would take the room of kinds that are counted apart.
	m.counts.refusals.drop(func(k refusedKind) bool { return over[k.worktree] })
	r.Refusals, r.MoreRefusals = m.counts.refusals.all()
	r.Requests, _ = m.counts.requests.all()
	for why := range r.TurnedAway {
		r.TurnedAway[why] = m.counts.Turned[why].Load()
	}
	return r
}
