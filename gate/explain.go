package gate

import (
	"strconv"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Explanation says why a write would pass or not. The JSON names are stable.
type Explanation struct {
	Worktree lease.WorktreeID `json:"worktree"`
	Path     string           `json:"path,omitempty"`
	PID      int              `json:"pid"`
	Allowed  bool             `json:"allowed"`
	// WouldRefuse is true if the write is allowed only because the mount observes.
	WouldRefuse bool        `json:"would_refuse,omitempty"`
	Class       lease.Class `json:"class,omitempty"`
	Errno       string      `json:"errno,omitempty"`
	Sentence    string      `json:"sentence"`
	Next        string      `json:"next,omitempty"`
	Exempt      string      `json:"exempt,omitempty"` // the rule by which anybody may write there
	Holder      *HolderView `json:"holder,omitempty"`
	Status      Status      `json:"status"`
}

// HolderView is the part of a holder that may be shown: without its nonce.
type HolderView struct {
	ID        string      `json:"holder_id"`
	Host      string      `json:"host,omitempty"`
	User      string      `json:"user,omitempty"`
	UID       uint32      `json:"uid"`
	PID       int         `json:"pid,omitempty"` // on its host, and in its pid namespace
	Scope     string      `json:"scope"`
	Purpose   string      `json:"purpose,omitempty"`
	Auto      bool        `json:"auto,omitempty"`
	Token     lease.Token `json:"fencing_token"`
	Since     *time.Time  `json:"since,omitempty"`
	ExpiresAt *time.Time  `json:"lease_expires_at,omitempty"`
}

// Explain decides about a write by the process as Enter would. It takes no lease and counts no
// refusal. pid is a number in the daemon's pid namespace.
func (g *Guard) Explain(pid int) Explanation {
	x := Explanation{Worktree: g.cfg.Worktree, PID: pid, Status: g.Status()}
	uid, err := process.UIDOf(pid)
	if err != nil {
		x.Sentence = "there is no process " + strconv.Itoa(pid) + " to explain for: " + err.Error()
		x.Class, x.Errno = lease.ClassLockNotHeld, errnoName(g.cfg.Errno)
		return x
	}
	e, mode := g.open.Load(), g.cfg.Enforcement.Mode()
	if seen, _ := g.keeper.Observe(); e.overtakenBy(seen) {
		g.keeper.Look() // which closes it
		e = nil
	}
	f, _, who := attempt{g, Request{Caller: process.Caller{TID: uint32(pid), UID: uid}}, mode}.gather(e)
	act, why := decide(f)
	if act == pass && e.hasLapsed() {
		act, why = refuse, reasonHandover
	}
	x.Holder = g.holderView()
	switch act {
	case refuse:
		no := g.refusal(OpWrite, why, e).about(who)
		if no.Left > 0 && no.Token == x.Status.Token { // the sentence and the status say the same
			no.Left = time.Duration(x.Status.TimeLeftMS) * time.Millisecond
		}
		x.Class, x.Errno, x.Sentence, x.Next = no.Class(), errnoName(no.Errno), no.Sentence(), no.Next()
		x.Allowed, x.WouldRefuse = mode == Observing, mode == Observing
		if x.WouldRefuse {
			x.Sentence = "would be refused, but this mount only observes: " + x.Sentence
		}
	case acquire:
		x.Allowed = true
		x.Sentence = "nobody holds the lease: the write would take it for process " + strconv.Itoa(pid) + "'s " + string(g.cfg.autoScope()) + x.Status.Quiesced.waits()
	default:
		x.Allowed = true
		x.Sentence = allowedBecause(f, act)
		if act == pass && e.frozen() != nil {
			x.Sentence += ", which is handing it over: the write waits for the outcome, but not for longer than " + g.patience.String()
		}
		x.Sentence += x.Status.Quiesced.waits()
	}
	return x
}

// ExplainAt is Explain for a write to a place, which may be exempt.
func (g *Guard) ExplainAt(pid int, w Where) Explanation {
	x := g.Explain(pid)
	rule, ok := decideByPlace(g.cfg.Enforcement.Mode(), g.cfg.Worktree, g.cfg.Exempt, w)
	if !ok || g.cfg.Mode == Shared {
		return x
	}
	x.Allowed, x.Exempt, x.Class, x.Errno, x.Next = true, rule, "", "", ""
	x.Sentence = Exemption{Rule: rule}.Sentence()
	return x
}

func allowedBecause(f facts, act action) string {
	switch {
	case f.mode == Shared:
		return "the worktree is in mode shared: everybody may write, and nothing is guaranteed"
	case act == passFree:
		return "nobody holds the lease, and this mount lets everybody write then"
	}
	return "the process holds the lease, or belongs to its holder"
}

// ViewOf is a holder under a token, without what a record says of the lease.
func ViewOf(h lease.Holder, token lease.Token) *HolderView {
	return &HolderView{ID: h.ID(), Host: h.Host, User: h.User, UID: h.UID, PID: h.PID, Scope: h.Scope, Purpose: h.Purpose, Auto: h.Auto, Token: token}
}

func (g *Guard) holderView() *HolderView {
	head, j := g.keeper.Observe()
	if e := g.open.Load(); e != nil && !e.overtakenBy(head) {
		v := ViewOf(e.holder(), e.id.Token())
		if r := head.Record; r != nil && head.Token == v.Token {
			v.OfRecord(r)
		}
		return v
	}
	if head.Record == nil || j.State == lease.Free {
		return nil
	}
	v := ViewOf(head.Record.Holder(), head.Token)
	v.OfRecord(head.Record)
	return v
}

// OfRecord adds what the record of the lease says.
func (v *HolderView) OfRecord(r *record.Record) {
	since, until := r.CreatedAt, r.ExpiresAt()
	v.Since, v.ExpiresAt = &since, &until
}
