package lockfile

import "time"

// Spec is a rule as it is written. The zero value of each field is its default.
type Spec struct {
	Name    string
	Lock    string // pattern of the lock's path below the worktree's root; "": the rule has only Once, Keep and Append
	TakenBy TakenBy
	Holder  Holder
	Guards  []string // a mutation of what they match needs the lock with the same captures
	Except  []string // taken out of Guards again
	Without Without
	Once    []string // never changed after the tenure, or the open file, that made it
	Keep    []string // never removed or renamed away
	Append  []string // may only grow
	Break   Break
	OnGone  OnGone
	Record  RecordOf // of ByRecord
}

// TakenBy is what takes a lock.
type TakenBy string

// How locks are taken.
const (
	ByCreate TakenBy = "create" // the name comes to exist
	ByFlock  TakenBy = "flock"  // flock(2) with LOCK_EX
	ByRecord TakenBy = "record" // as ByCreate; what it says decides who may replace it
	ByLease  TakenBy = "lease"  // there is no lock file: each instance is a worktree with a lease of its own
)

// Holder says who holds a lock that somebody has taken.
type Holder string

// The holders. Tree is the default.
const (
	Tree    Holder = "tree"    // the taker and what it starts
	Parent  Holder = "parent"  // the taker's parent and what that starts: for mkdir(1) in a script
	Session Holder = "session" // the taker's session
	User    Holder = "user"    // whoever has the taker's user id
)

// Without says what becomes of a guarded write while nobody holds the lock.
type Without string

// What may be written without the lock. Deny is the default.
const (
	Deny   Without = "deny"
	Create Without = "create" // names that do not exist yet
	Allow  Without = "allow"
)

// OnGone says what becomes of a lock whose holder has ended.
type OnGone string

// What is done about it. KeepIt is the default.
const (
	KeepIt OnGone = "keep"
	Remove OnGone = "remove"
)

// Break says when another than the holder may take a lock away.
type Break struct {
	Gone    bool          // the holder has ended
	After   time.Duration // so long after it was taken or renewed (boot clock), or after its record has expired (wall clock); 0: never, or at once
	Unknown time.Duration // nobody was seen to take it, and it has not changed for so long since it was first seen; 0: never
}

// The bounds of a set of rules.
const (
	MaxRules    = 64
	MaxPatterns = 32   // of one list
	MaxPattern  = 4096 // bytes, as long as a path can be
)
