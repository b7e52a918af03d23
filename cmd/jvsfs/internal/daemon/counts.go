package daemon

import (
	"sync/atomic"

	"github.com/jvsfs/jvsfs/gate"
)

// daemonCounts are counts for metrics that no other part of the daemon keeps. Safe for concurrent use. nil
// counts nothing.
type daemonCounts struct {
	refusals *tally[refusedKind]
	requests *tally[requestKind]
	turned   [turnedReasons]atomic.Uint64
}

// refusedKind has the labels of a refusal in metrics.
type refusedKind struct {
	refusalKind
	observed bool // it was not refused: the mount only observes
}

// requestKind has the labels of a request of the control socket.
type requestKind struct {
	op string // known to the protocol
	ok bool
}

// turned is why a connection to the control socket was turned away before its request was served.
type turned int

const (
	turnedLimit   turned = iota // too many at a time
	turnedInvalid               // not a request
	turnedReasons
)

var turnedNames = [turnedReasons]string{turnedLimit: "limit", turnedInvalid: "invalid"}

func newDaemonCounts() *daemonCounts {
	return &daemonCounts{refusals: newTally[refusedKind](refusalKinds), requests: newTally[requestKind](2 * len(operations))}
}

func (c *daemonCounts) refused(no *gate.Refusal, observed bool) {
	c.refusals.add(refusedKind{refusalKind{worktree: no.Worktree, op: no.Op, class: no.Class()}, observed})
}

func (c *daemonCounts) answered(op string, ok bool) {
	if c != nil {
		c.requests.add(requestKind{op, ok})
	}
}

func (c *daemonCounts) turnedAway(why turned) {
	if c != nil {
		c.turned[why].Add(1)
	}
}
