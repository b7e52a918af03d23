package rulelocks

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Findings are what doctor says of the rules.
func (d *Locks) Findings() (found []finding.Finding) {
	book := d.book
	if book == nil {
		return nil
	}
	for _, v := range book.Locks() {
		switch v.State {
		case tenure.StateGone:
			found = append(found, finding.Warn("rules.gone", "start its program again, which may clean up; or jvsfs rules break it",
				"lock %s of rule %s is left from %s, which has ended", v.Lock, v.Rule, v.HolderText()))
		case tenure.StateUnknown:
			found = append(found, finding.Warn("rules.unknown", "see whether its program runs; if not, jvsfs rules break it",
				"lock %s of rule %s is there, and nobody was seen to take it", v.Lock, v.Rule))
		}
	}
	for _, n := range book.Counts() {
		if n.HasLock && n.Matches == 0 {
			found = append(found, finding.Warn("rules.never", "jvsfs rules test shows what a rule matches; patterns start at the root of the source",
				"rule %s has matched nothing since the mount", n.Rule))
		}
		if n.Bypassed > 0 {
			found = append(found, finding.Warn("rules.bypass", "find out who writes to the source, and have it use the mount",
				"locks of rule %s were changed past the mount: %d times", n.Rule, n.Bypassed))
		}
	}
	if len(found) == 0 {
		found = append(found, finding.OK("rules.known", "every lock that rules tell of is free, or its holder runs"))
	}
	return found
}
