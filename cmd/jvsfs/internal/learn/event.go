package learn

// Kind is what was done.
type Kind int

// What is noted.
const (
	Create Kind = iota // a file was made that was not there, with O_EXCL
	Open               // likewise, without
	Mkdir              // a directory was made
	Link               // Path got the second name To
	Rename             // Path is called To now
	Remove             // a name was removed
	Change             // content or attributes were changed
	Flock              // flock(2) with LOCK_EX was granted
	Unlock             // it was given back, or its open file was closed
	Range              // a range was locked with fcntl
)

// Who did it.
type Who struct {
	PID, Parent int
	Name        string // of the program; "" is not known
}

// Event is a change, in the order in which they took effect.
type Event struct {
	Kind   Kind
	Path   string // below the root
	To     string // of Link and Rename
	Who    Who
	Handle uint64 // of Flock and Unlock: which open file
}

// touched are the names that an event changes.
func (e Event) touched() []string {
	switch e.Kind {
	case Rename:
		return []string{e.Path, e.To}
	case Link:
		return []string{e.To}
	case Flock, Unlock, Range:
		return nil
	}
	return []string{e.Path}
}
