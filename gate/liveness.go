package gate

import (
	"errors"

	"github.com/jvsfs/jvsfs/lease"
)

// Liveness says whether who a lease is bound to is still there: its process or, where a
// write took the lease for a session or a cgroup, anybody who is left in that, or who adopts
// what the process has left. One that
// is stopped or frozen is not renewed: it could not stop writing in time either.
func Liveness(h lease.Holder) lease.Liveness {
	live, _ := livenessOf(h, process{})
	return live
}

// Liveness is the function of that name, at less cost: it remembers who was found to be
// left where the leader of a session has ended.
func (r *Resolver) Liveness(h lease.Holder) lease.Liveness {
	key := h.Scope + " " + h.ScopeKey
	r.leftMu.Lock()
	known := r.left[key]
	r.leftMu.Unlock()
	live, left := livenessOf(h, known)
	if left == known {
		return live
	}
	r.leftMu.Lock()
	defer r.leftMu.Unlock()
	if delete(r.left, key); left == (process{}) {
		return live
	}
	if r.left == nil || len(r.left) >= resolvedMax {
		r.left = make(map[string]process)
	}
	r.left[key] = left
	return live
}

// livenessOf is Liveness. known is who was found to be left in its session before, left
// who is now.
func livenessOf(h lease.Holder, known process) (live lease.Liveness, left process) {
	switch {
	case h.PID == 0:
		return lease.Alive, left
	case h.BootID != host().bootID || h.PIDNamespace != host().pidNS:
		return lease.Unknown, left
	}
	live = process{h.PID, h.StartTime}.liveness()
	if by, ok := adopter(h); ok && live == lease.Gone {
		return by.liveness(), left
	}
	if live != lease.Gone || !h.Auto {
		return live, left
	}
	switch Scope(h.Scope) {
	case ScopeSession:
		return sessionLiveness(h.ScopeKey, known)
	case ScopeCgroup:
		return cgroupLiveness(h.ScopeKey), left
	}
	return lease.Gone, left
}

// liveness is that of one process.
func (p process) liveness() lease.Liveness {
	st, err := ReadStat(p.pid)
	switch {
	case errors.Is(err, errGone), err == nil && st.Start != p.start:
		return lease.Gone
	case err != nil:
		return lease.Unknown
	case st.dead():
		return lease.Gone
	case st.State == 'T', st.State == 't', frozen(p.pid):
		return lease.Stopped
	}
	return lease.Alive
}

// dead reports whether the process has ended, and at most waits to be reaped.
func (s ProcStat) dead() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }
