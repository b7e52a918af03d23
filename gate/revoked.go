package gate

import (
	"slices"

	"github.com/jvsfs/jvsfs/lease"
)

// revocations are the holders that lost a lease against their will. It is small
// and bounded; the oldest goes first.
type revocations struct {
	list []revocation
	// seen remembers what find answered, until the list changes: finding out whether
	// a process descends from a holder reads /proc.
	seen map[writerKey]Reason
}

// writerKey is what the answer for a writer depends on. (A process can also change
// its cgroup; that is looked at anew each time.)
type writerKey struct {
	process
	session int
	uid     uint32
}

type revocation struct {
	holder lease.Holder
	why    Reason
}

const revocationsMax = 1024

func (r *revocations) add(h lease.Holder, why Reason) {
	r.remove(h)
	if len(r.list) >= revocationsMax {
		r.list = r.list[1:]
	}
	r.list = append(r.list, revocation{h, why})
	r.seen = nil
}

func (r *revocations) remove(h lease.Holder) {
	kept := r.list[:0]
	for _, v := range r.list {
		if !sameHolder(v.holder, h) {
			kept = append(kept, v)
		}
	}
	r.list = kept
	r.seen = nil
}

// admit takes out whoever acquired on purpose: the same holder, and one of another
// scope that was bound to the same process (a session that had its lease by writing,
// whose leader now acquires).
func (r *revocations) admit(h lease.Holder) {
	r.list = slices.DeleteFunc(r.list, func(v revocation) bool {
		same := v.holder.BootID == h.BootID && v.holder.PIDNamespace == h.PIDNamespace
		return sameHolder(v.holder, h) || same && h.PID != 0 && v.holder.PID == h.PID && v.holder.StartTime == h.StartTime
	})
	r.seen = nil
}

// find returns why the process may not write, or ReasonNone.
func (r *revocations) find(res *Resolver, id Identity) Reason {
	if len(r.list) == 0 {
		return ReasonNone
	}
	key := writerKey{process{id.PID, id.Start}, id.Session, id.UID}
	if why, known := r.seen[key]; known {
		return why
	}
	why, lasting := r.search(res, id)
	if lasting {
		if r.seen == nil || len(r.seen) >= membersMax {
			r.seen = make(map[writerKey]Reason)
		}
		r.seen[key] = why
	}
	return why
}

func (r *revocations) search(res *Resolver, id Identity) (why Reason, lasting bool) {
	lasting = true
	for _, v := range r.list {
		lasting = lasting && Scope(v.holder.Scope) != ScopeCgroup
		if why == ReasonNone && res.Member(v.holder, id) {
			why = v.why
		}
	}
	return why, lasting
}

// sameHolder compares who may write: the scope and, where it is a process, the
// process.
func sameHolder(a, b lease.Holder) bool {
	if a.Scope != b.Scope || a.ScopeKey != b.ScopeKey || a.BootID != b.BootID || a.PIDNamespace != b.PIDNamespace {
		return false
	}
	return Scope(a.Scope) != ScopeTree || a.PID == b.PID && a.StartTime == b.StartTime
}
