package lockfile

import "time"

// Act is what somebody does to a lock file that exists.
type Act uint8

// The acts.
const (
	Change Act = iota // write, truncate, change attributes, replace by a rename
	Take              // remove, rename away
)

// Facts are all that a decision about a lock file depends on.
type Facts struct {
	Act     Act
	State   State
	Member  bool          // the caller belongs to the holder
	Lives   bool          // somebody is left in the holder
	Robbed  bool          // the caller belongs to one that lost this very lock and has not taken it again
	Renewed time.Duration // since the lock was taken or renewed (boot clock)
	Seen    time.Duration // since an unknown lock was first seen as it is now
}

// State is the state of a lock.
type State uint8

// The states.
const (
	Free    State = iota // there is no lock file, or nobody has locked it
	Held                 // somebody was seen to take it
	Unknown              // it is there, and nobody was seen to take it
	Window               // a maintenance window is open: whether there is a lock file does not matter
)

// Outcome is what becomes of an act.
type Outcome uint8

// The outcomes.
const (
	Refused  Outcome = iota
	Passes           // the state stays
	Renews           // the holder has changed its lock: its age begins anew
	Releases         // the holder gives it up
	Breaks           // it is taken from its holder, or from nobody knows whom
)

// Why is why an act is refused.
type Why uint8

// The reasons.
const (
	NoReason     Why = iota
	HeldByOther      // its holder lives
	NotYet           // its holder has ended, or is unknown, and the rule lets nobody break it, or not yet
	RobbedBefore     // the caller has lost this lock to another
	NoRenewal        // what would replace a record is neither its renewal nor a takeover in its time
)

// Judge decides about an act on a lock file. It is the whole of the protocol that the file system enforces.
func Judge(b Break, f Facts) (Outcome, Why) {
	switch f.State {
	case Held:
		return judgeHeld(b, f)
	case Unknown:
		return judgeUnknown(b, f)
	case Window:
		return judgeWindow(f)
	}
	if f.Act == Take && f.Robbed { // a late release: what it would remove is not its own any more
		return Refused, RobbedBefore
	}
	return Passes, NoReason
}

func judgeHeld(b Break, f Facts) (Outcome, Why) {
	switch {
	case f.Member && f.Lives && f.Act == Change:
		return Renews, NoReason
	case f.Member && f.Lives:
		return Releases, NoReason
	case !f.Lives && b.Gone: // also by who was robbed: nobody is harmed, and otherwise it would stay out for ever
		return Breaks, NoReason
	case f.Robbed:
		return Refused, RobbedBefore
	case b.After > 0 && f.Renewed > b.After:
		return Breaks, NoReason
	case f.Lives:
		return Refused, HeldByOther
	}
	return Refused, NotYet
}

func judgeUnknown(b Break, f Facts) (Outcome, Why) {
	switch {
	case f.Robbed:
		return Refused, RobbedBefore
	case b.Unknown > 0 && f.Seen >= b.Unknown:
		return Breaks, NoReason
	}
	return Refused, NotYet
}

// judgeWindow lets the window's holder do everything, and nobody else anything, whatever the rule says of breaking.
func judgeWindow(f Facts) (Outcome, Why) {
	if f.Member {
		return Passes, NoReason
	}
	return Refused, HeldByOther
}
