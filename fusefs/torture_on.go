//go:build jvsfs_torture

package fusefs

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/integration/torture/inject"
)

// ruleOff breaks a rule on purpose: what finds nothing then proves nothing.
func ruleOff(rule string) bool { return inject.Off(rule) }

// admitted is between the gate's pass and the backing call.
func admitted(op gate.Op, p *passes) {
	if p.n == 0 {
		inject.Point("admitted." + op.String())
		return
	}
	first := p.of[0]
	inject.Held("admitted."+op.String(), string(first.guard.Worktree()), uint64(first.pass.Epoch().Token()))
}
