//go:build !jvsfs_torture

package gate

import "github.com/jvsfs/jvsfs/lease"

// The torture test (integration/torture) builds with torture_on.go instead.

func ruleOff(string) bool { return false }

func lateCount(*epoch, lease.Clock) (ok, judged bool) { return false, false }
