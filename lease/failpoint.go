package lease

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Failpoints stand between the package and the kernel, for a process that shall fail on purpose. Each is called instead of a call, or
// around it. nil changes nothing.
type Failpoints struct {
	Point  func(name string)                        // at named points of claim, renewal and release, where [KeeperConfig.Pause] is nil
	Change func(op string, call func() error) error // a call that changes the lock directory or the audit log
	Look   func(op string, call func() error) error // a call that looks at a name of the lock directory ("look"), or lists it ("list")
	Open   func(flags int, call func() error) error // an open in the lock directory
	Flock  func(fd, how int) error                  // flock(2) of a lock file
	Clock  func(Clock) Clock                        // changes what [SystemClock] returns
	Remote bool                                     // every lock directory counts as one that other hosts write, too
	// Claiming is called before the link of a claim, Claimed after it.
	Claiming, Claimed func(*record.Record)
}

// failpoints are written once, before anything is opened.
var failpoints Failpoints

// Inject puts failpoints into this process, before anything else of the package is called. Only a build that is not for users does it
// (tag jvsfs_torture).
func Inject(f Failpoints) {
	failpoints = f
	audit.Inject(audit.Failpoints{Change: f.Change, Open: f.Open})
}

func pausePoint(name string) {
	if failpoints.Point != nil {
		failpoints.Point(name)
	}
}

// disk is retry of a call that changes the lock directory.
func disk(op string, call func() error) error {
	if failpoints.Change == nil {
		return retry(call)
	}
	return retry(func() error { return failpoints.Change(op, call) })
}

// look is retry of a call that looks at a name in the lock directory.
func look(call func() error) error {
	return retry(func() error { return looking("look", call) })
}

// listing is a call that reads the names of the lock directory.
func listing(call func() error) error { return looking("list", call) }

func looking(op string, call func() error) error {
	if failpoints.Look == nil {
		return call()
	}
	return failpoints.Look(op, call)
}

// opening is retry of an open in the lock directory.
func opening(flags int, call func() error) error {
	if failpoints.Open == nil {
		return retry(call)
	}
	return retry(func() error { return failpoints.Open(flags, call) })
}

func flock(fd, how int) error {
	if failpoints.Flock == nil {
		return unix.Flock(fd, how)
	}
	return failpoints.Flock(fd, how)
}

func clockOf(c Clock) Clock {
	if failpoints.Clock == nil {
		return c
	}
	return failpoints.Clock(c)
}

func tierUnder(t tier) tier {
	if failpoints.Remote {
		return tierRemote
	}
	return t
}

func claiming(r *record.Record) {
	if failpoints.Claiming != nil {
		failpoints.Claiming(r)
	}
}

func claimed(r *record.Record) {
	if failpoints.Claimed != nil {
		failpoints.Claimed(r)
	}
}
