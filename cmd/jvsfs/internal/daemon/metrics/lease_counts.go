package metrics

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// LeaseCounts counts the events of the lease of one worktree since the mount. Safe for concurrent use.
type LeaseCounts struct {
	mu       sync.Mutex
	gateLost bool // the lease is interrupted for that
	leaseCountsOf
}

// leaseCountsOf are the counts at one moment.
type leaseCountsOf struct {
	Events      map[lease.EventKind]uint64
	AuditFailed uint64 // events that could not be put into the audit chain
	Renewed     uint64
	RenewFailed uint64
	Renewals    spans
	Looks       spans      // for a successor, after mutations
	GateLost    uint64     // renewals that found the lock of the gate gone
	GateRetaken uint64     // and the same lease went on
	Fenced      uint64     // steals after the holder's host was cut off the store
	Unclean     uint64     // steals that nothing but a silence had made sure of
	Granted     waitCounts // of those who waited for the lease and got it
	GivenUp     waitCounts // of those who did not get it
}

// spans are how long calls to the store took.
type spans struct {
	N      uint64
	Spent  time.Duration
	Within [renewBuckets]uint64 // not cumulative; longer ones are in no bucket
}

func (s *spans) add(took time.Duration) {
	s.N++
	s.Spent += took
	for i := range s.Within {
		if took <= renewBound(i) {
			s.Within[i]++
			return
		}
	}
}

// waitCounts are waits for a lease.
type waitCounts struct {
	N      uint64
	Spent  time.Duration
	Within [len(waitBounds)]uint64 // cumulative
}

// waitBounds are the buckets of waits: people and builds wait for minutes.
var waitBounds = [...]time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// A renewal is a write and a flush, a look asks the store for a name: from 100 µs to 10 s.
const renewBuckets = 11

// renewBound is the upper bound of a bucket: half a decade wide.
func renewBound(bucket int) time.Duration {
	return time.Duration(math.Round(math.Pow(10, float64(bucket)/2)*10)) * 10 * time.Microsecond
}

// Audited counts the keeper's events on their way to the audit chain.
func (c *LeaseCounts) Audited(audit func(lease.Event) error) func(lease.Event) error {
	return func(e lease.Event) error {
		err := audit(e)
		c.event(e, err)
		return err
	}
}

// AuditedAll is audited for several events that are in the chain together or not at all.
func (c *LeaseCounts) AuditedAll(audit func([]lease.Event) error) func([]lease.Event) error {
	return func(all []lease.Event) error {
		err := audit(all)
		for _, e := range all {
			c.event(e, err)
		}
		return err
	}
}

// event counts one; err is that of its audit.
func (c *LeaseCounts) event(e lease.Event, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Events == nil {
		c.Events = map[lease.EventKind]uint64{}
	}
	c.outcomeOfLoss(e.Kind)
	switch {
	case err == nil:
		c.Events[e.Kind]++
		c.takeover(e)
	case e.Kind == lease.EventSteal || e.Kind == lease.EventResume || e.Kind == lease.EventFence: // it did not happen
		c.AuditFailed++
	default:
		c.Events[e.Kind]++
		c.AuditFailed++
	}
}

// takeover counts how sure a steal was.
func (c *LeaseCounts) takeover(e lease.Event) {
	switch {
	case e.Kind != lease.EventSteal:
	case e.Fenced:
		c.Fenced++
	case e.Unclean:
		c.Unclean++
	}
}

// outcomeOfLoss is what an event says of a lease whose gate was lost: after each but these it does not go on.
func (c *LeaseCounts) outcomeOfLoss(kind lease.EventKind) {
	switch kind {
	case lease.EventRenewFailed, lease.EventLateWrite, lease.EventFence, lease.EventFenced, lease.EventFenceFailed:
	default:
		c.gateLost = false
	}
}

// NoteRenewal counts a renewal.
func (c *LeaseCounts) NoteRenewal(took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate(err)
	if err != nil {
		c.RenewFailed++
	} else {
		c.Renewed++
	}
	c.Renewals.add(took)
}

// Looked counts a look for a successor.
func (c *LeaseCounts) Looked(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Looks.add(took)
}

// gate counts what a renewal says of the gate.
func (c *LeaseCounts) gate(err error) {
	switch {
	case errors.Is(err, lease.ErrGateLost):
		c.GateLost++
		c.gateLost = true
	case err == nil && c.gateLost:
		c.GateRetaken++
		c.gateLost = false
	}
}

// Waited counts a wait for the lease.
func (c *LeaseCounts) Waited(took time.Duration, granted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := &c.GivenUp
	if granted {
		to = &c.Granted
	}
	to.N++
	to.Spent += took
	for i, bound := range waitBounds {
		if took <= bound {
			to.Within[i]++
		}
	}
}

// Now returns the counts as they are.
func (c *LeaseCounts) Now() leaseCountsOf {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.leaseCountsOf
	all.Events = map[lease.EventKind]uint64{}
	for kind, n := range c.Events {
		all.Events[kind] = n
	}
	return all
}
