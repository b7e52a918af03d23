package gate

import (
	"errors"

	"github.com/jvsfs/jvsfs/lease"
)

// Late says why a mutation, which has just taken effect, may have come after the end of its epoch,
// or returns nil. Only stores that other kernels write need this (rule 10 of package lease);
// elsewhere it costs nothing. Call it before End. A late mutation must not be acknowledged, and
// ReportLate must follow.
func (g *Guard) Late(p Pass) error {
	if p.e == nil {
		return nil
	}
	return p.e.late(g.cfg.Clock)
}

// LateFailed is Late for a mutation that has failed in a way that does not say whether it took effect. A store that fails cannot be looked
// at, which proves no lateness then.
func (g *Guard) LateFailed(p Pass) error {
	why := g.Late(p)
	if errors.Is(why, errDeadline) || lease.ClassOf(why) == lease.ClassLockNotHeld {
		return why
	}
	return nil
}

// ReportUnsynced writes the taint and the event of what was written in an epoch, acknowledged, and may not have reached the store.
func (g *Guard) ReportUnsynced(id Epoch, w lease.LateWrite) {
	if w.Token = id.Token(); w.Token != 0 {
		_ = g.keeper.Late(w) // what cannot be told now the keeper tells later
	}
}

// ReportLate counts a late mutation and writes its taint and its audit event.
func (g *Guard) ReportLate(p Pass, why error, w lease.LateWrite) {
	w.Token = p.e.id.Token()
	no := g.refusal(OpWrite, reasonLate, p.e)
	no.err = errors.Join(why, g.keeper.Late(w))
	g.refusals.Add(1)
	g.note(no)
}
