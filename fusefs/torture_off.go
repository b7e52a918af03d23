//go:build !jvsfs_torture

package fusefs

import "github.com/jvsfs/jvsfs/gate"

// admitted is between the gate's pass and the backing call. The torture test
// (integration/torture) builds with torture_on.go instead.
func admitted(gate.Op, *passes) {}

func ruleOff(string) bool { return false }
