package metrics

import (
	"sync/atomic"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Counts are counts for metrics that no other part of the daemon keeps. Safe for concurrent use. nil
// counts nothing.
type Counts struct {
	refusals *boundedCounter[refusedKind]
	requests *boundedCounter[requestKind]
	Turned   [turnedReasons]atomic.Uint64
}

// refusedKind has the labels of a refusal in metrics.
type refusedKind struct {
	worktree lease.WorktreeID
	op       gate.Op
	class    lease.Class
	observed bool // it was not refused: the mount only observes
}

// mostRefusedKinds bounds the memory. It is enough for all classes and operations of a few worktrees.
const mostRefusedKinds = 4096

// mostRequestKinds is more than twice as many as the control protocol has operations: each can succeed and fail.
const mostRequestKinds = 128

// requestKind has the labels of a request of the control socket.
type requestKind struct {
	op string // known to the protocol
	ok bool
}

// turned is why a connection to the control socket was turned away before its request was served.
type turned int

// Why a connection was turned away.
const (
	TurnedLimit   turned = iota // too many at a time
	TurnedInvalid               // not a request
	turnedReasons
)

var turnedNames = [turnedReasons]string{TurnedLimit: "limit", TurnedInvalid: "invalid"}

// NewCounts has counted nothing yet.
func NewCounts() *Counts {
	return &Counts{refusals: newBoundedCounter[refusedKind](mostRefusedKinds), requests: newBoundedCounter[requestKind](mostRequestKinds)}
}

// Refused counts a refusal.
func (c *Counts) Refused(no *gate.Refusal) {
	c.refusals.add(refusedKind{no.Worktree, no.Op, no.Class(), no.Observed})
}

// Answered counts a request of the control socket.
func (c *Counts) Answered(op string, ok bool) {
	if c != nil {
		c.requests.add(requestKind{op, ok})
	}
}

// TurnedAway counts a connection whose request was not served.
func (c *Counts) TurnedAway(why turned) {
	if c != nil {
		c.Turned[why].Add(1)
	}
}
