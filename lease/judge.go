package lease

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// State is what a head means for a process that wants to write.
type State int

// The states.
const (
	Free       State = iota // nobody holds
	Held                    // somebody holds
	Expired                 // past its expiry, still protected by skew and grace
	Stealable               // rule 5 is met; rules 4, 6 and 7 are checked later
	Skewed                  // the clocks contradict each other (rule 7)
	Unreadable              // nothing may be concluded
)

// String is the state's lower-case name.
func (s State) String() string {
	names := [...]string{"free", "held", "expired", "stealable", "skewed", "unreadable"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("state(%d)", int(s))
	}
	return names[s]
}

// Judgement is a state, how long it lasts if nobody writes the record (zero: not known), and why.
type Judgement struct {
	State  State
	Until  time.Time
	Reason string
}

// Judge is the state of h at wall time now, by the larger of p and the record's own policy. Pure. The caller must read now before h
// (rule 5).
func Judge(now time.Time, h Head, p record.Policy) Judgement { return JudgeRead(now, now, h, p) }

// JudgeRead is Judge of a head whose read took time, for the store may stall: before and after are the wall clock from before and
// after it. Whether the lease is over goes by the first (rule 5), whether it is from the future by the second (rule 7): the record may
// be younger than the first, and that contradicts no clock.
func JudgeRead(before, after time.Time, h Head, p record.Policy) Judgement {
	r, now := h.Record, before
	switch {
	case h.Unreadable != nil:
		return Judgement{State: Unreadable, Reason: h.Unreadable.Error()}
	case r == nil:
		return Judgement{State: Free, Reason: "nobody has held it yet"}
	case r.Released:
		return Judgement{State: Free, Reason: "it was released"}
	}
	p = p.Stricter(r.Policy())
	if ahead := r.LastRenewedAt.Sub(after); ahead > p.MaxClockSkew {
		return Judgement{Skewed, r.LastRenewedAt.Add(-p.MaxClockSkew),
			fmt.Sprintf("it was renewed %v in the future of this host's clock; %v is the bound", ahead, p.MaxClockSkew)}
	}
	stealable := r.LeaseExpiresAt.Add(p.MaxClockSkew + p.StealGrace)
	switch {
	case !now.After(r.LeaseExpiresAt):
		return Judgement{Held, r.LeaseExpiresAt, "its lease lasts"}
	case !now.After(stealable):
		return Judgement{Expired, stealable, "its lease ended, but skew and grace have not passed"}
	}
	return Judgement{State: Stealable, Reason: fmt.Sprintf("its lease ended %v ago", now.Sub(r.LeaseExpiresAt))}
}
