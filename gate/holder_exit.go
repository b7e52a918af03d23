package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// watchHolder begins to watch the process that a holder is bound to. When it ends, the keeper is told to look.
func (g *Guard) watchHolder(h lease.Holder) *process.Watch {
	if h.PID == 0 || !isLocal(h) {
		return new(process.Watch)
	}
	return g.cfg.Resolver.Watch(process.ID{PID: h.PID, Start: h.StartTime}, g.cfg.Exits, g.keeper.Look)
}

// hasLeft reports whether nobody is left in the holder of an epoch. While its process runs, that costs one system call.
func (e *epoch) hasLeft(r *Resolver) bool {
	if e.exit == nil || e.exit.Runs() {
		return false
	}
	return r.Liveness(e.holder()) == lease.Gone
}
