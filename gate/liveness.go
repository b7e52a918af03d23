package gate

import (
	"errors"

	"github.com/jvsfs/jvsfs/lease"
)

// Liveness says whether the process that a lease is bound to lives. If a write took the lease for a
// session or a cgroup, any process left in it counts. A stopped or frozen process counts as
// stopped: its lease is not renewed, because it could not stop writing in time.
func Liveness(h lease.Holder) lease.Liveness {
	live, _ := livenessOf(h, process{})
	return live
}

// Liveness is the function Liveness at less cost: it remembers which process was found in a session
// whose leader has ended.
func (r *Resolver) Liveness(h lease.Holder) lease.Liveness {
	key := h.Scope + " " + h.ScopeKey
	r.remainingMu.Lock()
	known := r.remaining[key]
	r.remainingMu.Unlock()
	live, left := livenessOf(h, known)
	if left == known {
		return live
	}
	r.remainingMu.Lock()
	defer r.remainingMu.Unlock()
	if delete(r.remaining, key); left == (process{}) {
		return live
	}
	if r.remaining == nil || len(r.remaining) >= resolvedMax {
		r.remaining = make(map[string]process)
	}
	r.remaining[key] = left
	return live
}

// Gone reports whether Liveness is lease.Gone. Of a process that runs it does not ask whether it is stopped or frozen: that
// takes seven more system calls, and a lock file is taken a hundred times a second.
func (r *Resolver) Gone(h lease.Holder) bool {
	if h.PID != 0 && h.BootID == host().bootID && h.PIDNamespace == host().pidNS {
		if r.watched.runs(process{h.PID, h.StartTime}) {
			return false
		}
		if st, err := ReadStat(h.PID); err == nil && st.Start == h.StartTime && !st.dead() {
			return false
		}
	}
	return r.Liveness(h) == lease.Gone
}

// livenessOf is Liveness. known is the member of the session that was found before, left the one
// found now.
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

// liveness returns the liveness of one process.
func (p process) liveness() lease.Liveness {
	st, err := ReadStat(p.pid)
	switch {
	case errors.Is(err, errGone), err == nil && st.Start != p.start:
		return lease.Gone
	case err != nil:
		return lease.Unknown
	case st.dead():
		return lease.Gone
	case st.State == 'T', st.State == 't', cgroupFrozen(p.pid):
		return lease.Stopped
	}
	return lease.Alive
}

// dead reports whether the process has ended. It may not have been reaped.
func (s ProcStat) dead() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }
