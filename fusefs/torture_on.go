//go:build jvsfs_torture

package fusefs

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/integration/torture/inject"
)

// admitted is between the gate's pass and the backing call.
func admitted(op gate.Op) { inject.Point("admitted." + op.String()) }
