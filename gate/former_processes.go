package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// formerProcesses finds the processes of a holder, which lost its lease at a time on the boot clock. nil: its scope tells
// by itself who belonged to it, or it is of another machine.
func (r *Resolver) formerProcesses(h lease.Holder, loss time.Duration) *process.Former {
	scope := Scope(h.Scope)
	if h.PID == 0 || !isLocal(h) || scope != ScopeSession && scope != ScopeTree && scope != ScopeDefault {
		return nil
	}
	if scope != ScopeSession {
		tops := roots(h)
		return r.Former(loss, func(all map[int]process.Stat, pid int) bool { return process.DescendsIn(all, pid, tops...) })
	}
	leader, _ := parseProcessKey(h.ScopeKey)
	return r.Former(loss, func(all map[int]process.Stat, pid int) bool { return leader.PID != 0 && all[pid].Session == leader.PID })
}

// readmit removes a holder that acquired on purpose from processes that are kept out, and so what it makes later.
func readmit(p *process.Former, h lease.Holder) {
	if h.PID != 0 && isLocal(h) {
		p.Release(process.ID{PID: h.PID, Start: h.StartTime})
	}
}
