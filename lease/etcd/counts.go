package etcd

import (
	"maps"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// What requests are for.
const (
	toLook  = "look"      // who holds
	toClaim = "claim"     // a grant
	toWrite = "write"     // an offer, a release, or a claim that goes on under another etcd lease
	toProve = "prove"     // the heads are still ours
	toKeep  = "keepalive" // of the etcd lease
	toGrant = "lease"     // an etcd lease
	toMend  = "settle"    // a claim must not stay as it may be
	toTell  = "past"      // what is past
)

// counts are told to metrics. A request that fails has been counted, too.
type counts struct {
	mu       sync.Mutex
	requests map[string]lease.RemoteRequests
	leases   uint64
	restores uint64
}

func newCounts() *counts {
	c := &counts{requests: map[string]lease.RemoteRequests{}}
	for _, what := range []string{toLook, toClaim, toWrite, toProve, toKeep, toGrant, toMend, toTell} {
		c.requests[what] = lease.RemoteRequests{}
	}
	return c
}

func (c *counts) request(what string, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.requests[what]
	r.Add(took, err)
	c.requests[what] = r
	if what == toGrant && err == nil {
		c.leases++
	}
}

func (c *counts) restored() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restores++
}

// timed counts a request of a kind by how long it takes.
func (s *Session) timed(what string, request func() error) error {
	began := s.cfg.Clock.Boot()
	err := request()
	s.counts.request(what, s.cfg.Clock.Boot()-began, err)
	return err
}

// Counts are what has been asked so far.
func (s *Session) Counts() lease.RemoteCounts {
	c := s.counts
	c.mu.Lock()
	out := lease.RemoteCounts{Requests: maps.Clone(c.requests), Leases: c.leases, Restores: c.restores}
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Watching, out.Open = s.watching, len(s.open)
	if s.now != nil {
		out.Kept = max(s.cfg.Clock.Boot()-s.now.from, 1) // 0 would say that there is none
	}
	return out
}
