package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Liveness says whether the process that a lease is bound to lives. If a write took the lease for a
// session or a cgroup, any process left in it counts. A stopped or frozen process counts as
// stopped: its lease is not renewed, because it could not stop writing in time.
func Liveness(h lease.Holder) lease.Liveness {
	live, _ := livenessOf(h, process.ID{})
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
	if delete(r.remaining, key); left == (process.ID{}) {
		return live
	}
	if r.remaining == nil || len(r.remaining) >= remainingMax {
		r.remaining = make(map[string]process.ID)
	}
	r.remaining[key] = left
	return live
}

// Gone reports whether Liveness is lease.Gone. Of a process that runs it does not ask whether it is stopped or frozen: that
// takes seven more system calls, and a lock file is taken a hundred times a second.
func (r *Resolver) Gone(h lease.Holder) bool {
	if h.PID != 0 && isLocal(h) && r.Runs(process.ID{PID: h.PID, Start: h.StartTime}) {
		return false
	}
	return r.Liveness(h) == lease.Gone
}

// livenessOf is Liveness. known is the member of the session that was found before, left the one
// found now.
func livenessOf(h lease.Holder, known process.ID) (live lease.Liveness, left process.ID) {
	switch {
	case h.PID == 0:
		return lease.Alive, left
	case !isLocal(h):
		return lease.Unknown, left
	}
	live = ofHolder(process.ID{PID: h.PID, Start: h.StartTime}.Liveness())
	if by, ok := subreaper(h); ok && live == lease.Gone {
		return ofHolder(by.Liveness()), left
	}
	if live != lease.Gone || !h.Auto {
		return live, left
	}
	switch Scope(h.Scope) {
	case ScopeSession:
		leader, ok := parseProcessKey(h.ScopeKey)
		if !ok || leader.PID == 0 {
			return lease.Gone, left // without a key its members cannot be found
		}
		of, left := process.SessionLiveness(leader, known)
		return ofHolder(of), left
	case ScopeCgroup:
		return ofHolder(process.CgroupLiveness(h.ScopeKey)), left
	}
	return lease.Gone, left
}

// ofHolder is the liveness of a holder whose process has one.
func ofHolder(l process.Liveness) lease.Liveness {
	switch l {
	case process.Alive:
		return lease.Alive
	case process.Stopped:
		return lease.Stopped
	case process.Gone:
		return lease.Gone
	}
	return lease.Unknown
}

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
