package daemon

import (
	"sync/atomic"

	"github.com/jvsfs/jvsfs/gate"
)

// daemonCounts is what a daemon counts besides what its parts count themselves: it
// ends up in metrics. Safe for concurrent use; nil counts nothing.
type daemonCounts struct {
	refusals *tally[refusedKind]
	requests *tally[requestKind]
	turned   [turnedReasons]atomic.Uint64
}

// refusedKind is what refusals are told apart by in metrics.
type refusedKind struct {
	refusalKind
	observed bool // it went through: the mount only observes
}

// requestKind is what requests of the control socket are told apart by.
type requestKind struct {
	op string // known to the protocol
	ok bool
}

// turned is why a connection to the control socket was turned away unheard.
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
