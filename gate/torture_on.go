//go:build jvsfs_torture

package gate

import (
	"github.com/jvsfs/jvsfs/integration/torture/inject"
	"github.com/jvsfs/jvsfs/lease"
)

// ruleOff breaks a rule on purpose: what finds nothing then proves nothing.
func ruleOff(rule string) bool { return inject.Off(rule) }

// lateCount is the bug to avoid: it looks first and counts afterwards.
func lateCount(e *epoch, clock lease.Clock) (ok, judged bool) {
	if !inject.Off("count") {
		return false, false
	}
	if e.stopped.Load() != nil || e.over(clock.Boot()) {
		return false, true
	}
	inject.Point("enter.before_count")
	e.inflight.Add(1)
	return true, true
}
