package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Status is what an admin sees of a guard. The JSON names are stable.
type Status struct {
	Worktree     lease.WorktreeID `json:"worktree"`
	State        string           `json:"state"` // free held held_elsewhere expired stealable unreadable skewed closed
	Mode         Mode             `json:"mode"`
	Enforce      Enforce          `json:"enforce"`
	OnFree       OnFree           `json:"on_free"`
	Scope        Scope            `json:"scope"`
	Token        lease.Token      `json:"fencing_token"`
	SinceToken   lease.Token      `json:"since_token,omitempty"` // of a holder that resumed after a pause: its first token
	HolderID     string           `json:"holder_id,omitempty"`
	HolderScope  string           `json:"holder_scope,omitempty"`
	Purpose      string           `json:"purpose,omitempty"`
	Auto         bool             `json:"auto,omitempty"`
	ExpiresAt    *time.Time       `json:"lease_expires_at,omitempty"`
	TimeLeftMS   int64            `json:"time_left_ms"` // until the gate closes by itself
	InFlight     int64            `json:"in_flight"`
	WriteHandles int64            `json:"write_handles"`
	Writes       uint64           `json:"writes"`
	ExemptWrites uint64           `json:"exempt_writes"` // admitted for their place
	Refusals     uint64           `json:"refusals"`
	WouldRefuse  uint64           `json:"would_refuse"`
	Revoked      int              `json:"revoked"`
	Detail       string           `json:"detail,omitempty"`
	File         string           `json:"file,omitempty"`
	LastRefusals []string         `json:"last_refusals,omitempty"`
	Quiesced     *Quiesced        `json:"quiesced,omitempty"`        // writes wait for the end of a snapshot
	SilentMS     int64            `json:"store_silent_ms,omitempty"` // how long the file system of the records has not answered
	CutOff       bool             `json:"store_cut_off,omitempty"`   // the records cannot be read (lease.CutOffStore); Detail says why
}

// Status looks at the guard and, cheaply, at the lease record.
func (g *Guard) Status() Status { return g.StatusBy(g.keeper.Observe()) }

// StatusBy is Status by a look at the record that was made before. It does not wait for the store.
func (g *Guard) StatusBy(head lease.Head, j lease.Judgement) Status {
	s := Status{
		Worktree: g.cfg.Worktree, State: stateName(j.State), Mode: g.cfg.Mode, Enforce: g.cfg.Enforcement.Mode(),
		OnFree: g.cfg.OnFree, Scope: g.cfg.Scope, Token: head.Token, File: head.File, Detail: j.Reason,
		Writes: g.writes.Load(), ExemptWrites: g.exemptWrites.Load(), Refusals: g.refusals.Load(), WouldRefuse: g.wouldRefuse.Load(),
	}
	if r := head.Record; r != nil && j.State != lease.Free {
		h := r.Holder()
		at := r.ExpiresAt()
		s.HolderID, s.HolderScope, s.Purpose, s.Auto, s.ExpiresAt = h.ID(), h.Scope, h.Purpose, h.Auto, &at
	}
	s.CutOff = lease.CutOffStore(head.Unreadable)
	for _, e := range g.epochs() {
		s.InFlight += e.inflight.Load()
	}
	if e := g.open.Load(); e != nil && !e.overtakenBy(head) {
		s.ofEpoch(e, g.cfg.Clock.Boot())
	} else if j.State == lease.Held {
		s.State = "held_elsewhere"
	}
	s.LastRefusals, s.Quiesced = g.lastRefusals(), g.Quiesced()
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Revoked = len(g.revoked.list)
	if g.closing != nil || g.loss.Kind == lease.LossRenewFailed && head.Token <= g.loss.Token {
		s.State = "closed"
	}
	return s
}

// UnderLease counts the mutations of the latest lease that have not ended. It waits for nobody.
func (f *fence) UnderLease() int64 {
	if e := f.last.Load(); e != nil {
		return e.inflight.Load()
	}
	return 0
}

// Policy is how long leases last there.
func (g *Guard) Policy() record.Policy { return g.cfg.Policy }

func (s *Status) ofEpoch(e *epoch, now time.Duration) {
	s.State, s.Token = "held", e.id.Token()
	s.HolderID, s.HolderScope = e.holder().ID(), e.holder().Scope
	s.Purpose, s.Auto = e.holder().Purpose, e.holder().Auto
	s.WriteHandles = e.handles.Load()
	if why := e.resumed(); why != "" {
		s.Detail, s.SinceToken = why, lease.Token(e.since)
	}
	s.TimeLeftMS = e.left(now).Milliseconds()
}

// left is how long writers may pass unless the lease is renewed: the time left that everything shows. The record's
// own end is later, because others wait for longer than the holder writes (rule 2 of package lease).
func (e *epoch) left(now time.Duration) time.Duration {
	return max(time.Duration(e.deadline.Load())-now, 0)
}

func stateName(s lease.State) string {
	switch s {
	case lease.Free:
		return "free"
	case lease.Held:
		return "held"
	case lease.Expired:
		return "expired"
	case lease.Stealable:
		return "stealable"
	case lease.Skewed:
		return "skewed"
	}
	return "unreadable"
}
