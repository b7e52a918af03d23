package gate

import "github.com/jvsfs/jvsfs/lease"

// facts are all that a decision about a writer rests on. They are gathered by
// Guard; decide itself reads no clock, no file and no process.
type facts struct {
	enforce Enforce
	mode    Mode
	onFree  OnFree

	open    bool // an epoch is open and its deadline has not passed
	over    bool // an epoch is open but its deadline has passed
	closing bool // an epoch is being taken down
	failed  bool // the last epoch closed because a renewal failed, and may come back
	auto    bool // the open epoch was taken by AcquireOnFree
	known   bool // the writer could be identified (or the holder's scope needs no identity)
	member  bool // the writer belongs to the open epoch's holder
	gone    bool // nobody is left whom the open epoch's holder stands for
	revoked Reason

	head lease.State // of the record, asked for only while no epoch is open
}

// action is what a decision comes to.
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
		return passFree, ReasonNone
	}
	if f.open || f.over {
		return decideHeld(f)
	}
	return decideFree(f)
}

func decideHeld(f facts) (action, Reason) {
	switch {
	case !f.known:
		return refuse, ReasonNobody
	case !f.member && f.revoked != ReasonNone:
		return refuse, f.revoked
	case !f.member && f.gone: // its lease is over: it only has to be given back
		return decideFree(f)
	case !f.member:
		return refuse, ReasonHeldByOther
	// A holder that was acquired on purpose outranks the revocation of a wider
	// group that it belongs to; an automatic one would be a way around it.
	case f.auto && f.revoked != ReasonNone:
		return refuse, f.revoked
	case f.over:
		return refuse, ReasonExpired
	}
	return pass, ReasonNone
}

func decideFree(f facts) (action, Reason) {
	switch {
	case f.failed:
		return refuse, ReasonRenewFailed
	case f.closing:
		return refuse, ReasonClosing
	case f.revoked != ReasonNone:
		return refuse, f.revoked
	}
	switch f.head {
	case lease.Held, lease.Expired:
		return refuse, ReasonHeldElsewhere
	case lease.Unreadable:
		return refuse, ReasonUnreadable
	case lease.Skewed:
		return refuse, ReasonSkewed
	}
	switch {
	case f.onFree == AllowOnFree && f.head == lease.Free:
		return passFree, ReasonNone
	case f.onFree == AllowOnFree: // somebody's lease ran out: it must be taken over first
		return refuse, ReasonFree
	case f.onFree == AcquireOnFree && !f.known:
		return refuse, ReasonNobody
	case f.onFree == AcquireOnFree:
		return acquire, ReasonNone
	}
	return refuse, ReasonFree
}
