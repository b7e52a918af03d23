package gate

import "github.com/jvsfs/jvsfs/lease"

// facts are all that a decision about a writer depends on. Guard gathers them. decide itself reads
// no clock, no file and no process.
type facts struct {
	enforce Enforce
	mode    Mode
	onFree  OnFree

	open    bool // an epoch is open and its deadline has not passed
	over    bool // an epoch is open but its deadline has passed
	closing bool // an epoch is being closed
	failed  bool // the last epoch closed because a renewal failed, and may open again
	auto    bool // the open epoch was taken by AcquireOnFree
	known   bool // the writer was identified, or the holder's scope needs no identity
	member  bool // the writer belongs to the open epoch's holder
	gone    bool // nobody is left in the open epoch's holder
	revoked Reason

	head lease.State // of the record; only read while no epoch is open
}

// action is the result of a decision.
type action uint8

const (
	refuse   action = iota
	pass            // under the open epoch
	passFree        // under no lease
	acquire         // take the lease for the writer's session, then decide again
)

// decide is the policy for an operation that is judged by its writer.
func decide(f facts) (action, Reason) {
	if f.enforce == ReadOnly {
		return refuse, ReasonReadOnly
	}
	if f.mode == Shared {
		return passFree, reasonNone
	}
	if f.open || f.over {
		return decideHeld(f)
	}
	return decideFree(f)
}

func decideHeld(f facts) (action, Reason) {
	switch {
	case !f.known:
		return refuse, reasonNobody
	case !f.member && f.revoked != reasonNone:
		return refuse, f.revoked
	case !f.member && f.gone: // its lease is over, and only has to be given back
		return decideFree(f)
	case !f.member:
		return refuse, ReasonHeldByOther
	// A holder that acquired on purpose may write, even if a wider group that it belongs to is
	// revoked. An automatic holder may not: that would be a way around the revocation.
	case f.auto && f.revoked != reasonNone:
		return refuse, f.revoked
	case f.over:
		return refuse, reasonExpired
	}
	return pass, reasonNone
}

func decideFree(f facts) (action, Reason) {
	switch {
	case f.failed:
		return refuse, reasonRenewFailed
	case f.closing:
		return refuse, reasonClosing
	case f.revoked != reasonNone:
		return refuse, f.revoked
	}
	switch f.head {
	case lease.Held, lease.Expired:
		return refuse, reasonHeldElsewhere
	case lease.Unreadable:
		return refuse, reasonUnreadable
	case lease.Skewed:
		return refuse, reasonSkewed
	}
	switch {
	case f.onFree == AllowOnFree && f.head == lease.Free:
		return passFree, reasonNone
	case f.onFree == AllowOnFree: // a lease ran out: it must be taken over first
		return refuse, ReasonFree
	case f.onFree == AcquireOnFree && !f.known:
		return refuse, reasonNobody
	case f.onFree == AcquireOnFree:
		return acquire, reasonNone
	}
	return refuse, ReasonFree
}
