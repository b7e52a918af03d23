package daemon

import (
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/gate"
)

// logRefusal logs a refusal. The log's sampling bounds the number of lines, and lines that are left out are not
// formatted: a refused write must stay cheap.
func (d *refusalTrail) logRefusal(no *gate.Refusal) {
	d.history.note(no)
	d.refused.note(no)
	d.counts.Refused(no)
	what := "refused"
	if no.Observed {
		what = "would refuse"
	}
	entry := d.log.Check(zap.InfoLevel, what)
	if entry == nil {
		return
	}
	entry.Write(zap.String("worktree", string(no.Worktree)), zap.Stringer("op", no.Op),
		zap.String("class", string(no.Class())), zap.String("why", no.Sentence()))
}

// noteOutside records a refusal that no lease gave. Those by rules are audited as those by leases are.
func (d *refusalTrail) noteOutside(no *gate.Refusal) {
	if no.Lock != nil {
		d.logRefusal(no)
		return
	}
	d.history.note(no)
}

// noteExempt records a write that was admitted because of its place.
func (d *refusalTrail) noteExempt(x gate.Exemption) {
	d.refused.noteExempt(x, func() int {
		id, err := d.resolver.Identify(x.Caller)
		if err != nil {
			return 0
		}
		return id.PID
	})
}
