package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// watchHolder begins to watch the process that a holder is bound to. When it ends, wake is called.
func (r *Resolver) watchHolder(h lease.Holder, exits *process.ExitWatch, wake func()) *process.Watch {
	if h.PID == 0 || !isLocal(h) {
		return new(process.Watch)
	}
	return r.Watch(process.ID{PID: h.PID, Start: h.StartTime}, exits, wake)
}

// hasLeft reports whether nobody is left in the holder of an epoch. While its process runs, that costs one system call.
func (e *epoch) hasLeft(r *Resolver) bool {
	if e.exit == nil || e.exit.Runs() {
		return false
	}
	return r.Liveness(e.holder()) == lease.Gone
}
