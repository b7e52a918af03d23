package gate

import (
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// revocations are the holders that lost a lease against their will. The list is bounded; the oldest
// goes first.
type revocations struct {
	own  []revocation // seen by this guard
	list []revocation // own, and those that the records tell
	// seen remembers the answers of find until the list changes: whether a process descends from a
	// holder is read from /proc.
	seen map[writerKey]*revocation // nil: none
}

// writerKey is what the answer for a writer depends on. (A process can also change its cgroup, so
// that is read each time.)
type writerKey struct {
	process.ID
	session int
	uid     uint32
}

type revocation struct {
	holder lease.Holder
	why    Reason
	token  lease.Token     // the token that it lost
	at     time.Time       // when, by the record; zero if the guard has seen it
	former *process.Former // its processes at that time
}

const revocationsMax = 1024

// add notes a loss that this guard has seen.
func (r *revocations) add(v revocation) {
	defer r.dismiss(r.formers())
	r.own = append(without(r.own, v.holder), v)
	r.list = append(without(r.list, v.holder), v)
	if len(r.own) > revocationsMax {
		r.own = r.own[1:]
	}
	if len(r.list) > revocationsMax {
		r.list = r.list[1:]
	}
	r.seen = nil
}

// formers returns the processes that are kept out now.
func (r *revocations) formers() (all []*process.Former) {
	for _, v := range slices.Concat(r.own, r.list) {
		if v.former != nil {
			all = append(all, v.former)
		}
	}
	return all
}

// dismiss marks the processes that were kept out before and are not now.
func (r *revocations) dismiss(before []*process.Former) {
	now := r.formers()
	for _, c := range before {
		c.Over(!slices.Contains(now, c))
	}
}

func without(list []revocation, h lease.Holder) []revocation {
	return slices.DeleteFunc(list, func(v revocation) bool { return sameHolder(v.holder, h) })
}

// learn adds what the records tell: who lost a lease anywhere, and who has acquired on purpose
// since.
func (r *revocations) learn(past []lease.Past, found []revocation) {
	defer r.dismiss(r.formers())
	r.own = slices.DeleteFunc(r.own, func(v revocation) bool { return admittedBy(past, v.holder, v.token) })
	r.list = slices.Clone(r.own)
	for _, v := range found {
		if !slices.ContainsFunc(r.list, func(o revocation) bool { return sameHolder(o.holder, v.holder) }) {
			r.list = append(r.list, v)
		}
	}
	for _, v := range r.list {
		for _, p := range past {
			if p.Token > v.token && !p.Holder.Auto {
				readmit(v.former, p.Holder)
			}
		}
	}
	r.seen = nil
}

// admit removes a holder that acquired on purpose.
func (r *revocations) admit(h lease.Holder) {
	defer r.dismiss(r.formers())
	lifted := func(v revocation) bool { return admits(h, v.holder) }
	r.own, r.list = slices.DeleteFunc(r.own, lifted), slices.DeleteFunc(r.list, lifted)
	for _, v := range r.list {
		readmit(v.former, h)
	}
	r.seen = nil
}

// admits reports whether acquiring on purpose lets a former holder in again: if it is the same
// holder, or had another scope but the same process. (For example a session had a lease by writing,
// and its leader acquires now.)
func admits(h, lost lease.Holder) bool {
	same := lost.BootID == h.BootID && lost.PIDNamespace == h.PIDNamespace
	return sameHolder(lost, h) || same && h.PID != 0 && lost.PID == h.PID && lost.StartTime == h.StartTime
}

// turnsInto reports whether the open epoch is that of a holder that has acquired on purpose: the
// same holder, or one of another scope whose lease by writing was bound to the same process.
func turnsInto(open, h lease.Holder) bool {
	return sameHolder(open, h) || open.Auto && admits(h, open)
}

// find returns the loss for which the process may not write, nil for none.
func (r *revocations) find(res *Resolver, id process.Identity) *revocation {
	if len(r.list) == 0 {
		return nil
	}
	key := writerKey{id.ID(), id.Session, id.UID}
	if v, known := r.seen[key]; known {
		return v
	}
	res.CatchUp()
	found, lasting := r.search(res, id)
	if lasting {
		if r.seen == nil || len(r.seen) >= membersMax {
			r.seen = make(map[writerKey]*revocation)
		}
		r.seen[key] = found
	}
	return found
}

// reason is why, or reasonNone.
func (v *revocation) reason() Reason {
	if v == nil {
		return reasonNone
	}
	return v.why
}

func (r *revocations) search(res *Resolver, id process.Identity) (found *revocation, lasting bool) {
	lasting = true
	for _, v := range r.list {
		lasting = lasting && Scope(v.holder.Scope) != ScopeCgroup
		if found == nil && (res.Member(v.holder, id) || v.former.Has(id)) {
			found = &v
		}
	}
	return found, lasting
}

// sameHolder compares who may write: the scope and, for a tree, the process.
func sameHolder(a, b lease.Holder) bool {
	if a.Scope != b.Scope || a.ScopeKey != b.ScopeKey || a.BootID != b.BootID || a.PIDNamespace != b.PIDNamespace {
		return false
	}
	return Scope(a.Scope) != ScopeTree || a.PID == b.PID && a.StartTime == b.StartTime
}

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
