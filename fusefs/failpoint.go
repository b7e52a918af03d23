package fusefs

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// admittedPoint is called between the gate's pass and the backing call. May be nil.
var admittedPoint func(op gate.Op, id lease.WorktreeID, token lease.Token)

// InjectAdmitted has f called between the gate's pass and the backing call of each mutation, with
// the first worktree that it changes and the token that admitted it (0 for none). Call it before
// anything is mounted, in a build that is not for users (tag jvsfs_torture).
func InjectAdmitted(f func(op gate.Op, id lease.WorktreeID, token lease.Token)) { admittedPoint = f }

func admitted(op gate.Op, p *permit) {
	switch {
	case admittedPoint == nil:
	case p.n == 0:
		admittedPoint(op, "", 0)
	default:
		first := p.of[0]
		admittedPoint(op, first.guard.Worktree(), first.pass.Epoch().Token())
	}
}
