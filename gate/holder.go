package gate

import (
	"fmt"
	"strconv"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// HolderFor makes the holder of a lease that is bound to a process. The lease is renewed while that
// process lives and is not stopped. HolderFor fails if there is no such process, or if everybody
// would be in the scope.
func (r *Resolver) HolderFor(pid int, scope Scope, purpose string) (lease.Holder, error) {
	id, err := process.IdentityOf(pid)
	if err != nil {
		return lease.Holder{}, err
	}
	return r.holderOf(id, scope, purpose)
}

func (r *Resolver) holderOf(id process.Identity, scope Scope, purpose string) (lease.Holder, error) {
	if scope == ScopeDefault {
		scope = ScopeTree
	}
	h := lease.Holder{
		Host: process.HostName(), User: process.UserName(id.UID), UID: id.UID, PID: id.PID, StartTime: id.Start,
		BootID: process.BootID(), PIDNamespace: process.PIDNamespace(), Scope: string(scope), Purpose: purpose,
	}
	switch scope {
	case ScopeSession:
		h.ScopeKey = processKey(process.ID{PID: id.Session, Start: id.SessionStart})
	case ScopeUser:
		h.ScopeKey = strconv.FormatUint(uint64(id.UID), 10)
	case ScopeCgroup:
		c, err := process.Cgroup(id.PID)
		if err != nil {
			return h, err
		}
		if c == "/" {
			return h, fmt.Errorf("process %d is in the root cgroup, which everybody is below: scope cgroup would fence nobody out", id.PID)
		}
		h.ScopeKey = c
	}
	return h, nil
}

// autoHolder returns the holder that a write takes the lease for. Under scope session the lease is
// bound to the session's leader, because it shall outlive the command that wrote first.
func (r *Resolver) autoHolder(id process.Identity, scope Scope) (lease.Holder, error) {
	if id.PID == 0 && scope != ScopeUser && scope != ScopeMount {
		return lease.Holder{}, process.ErrUnseen
	}
	h, err := r.holderOf(id, scope, "")
	h.Auto = true
	if (scope == ScopeSession || scope == ScopeTree) && id.SessionStart != 0 {
		h.PID, h.StartTime = id.Session, id.SessionStart
	}
	if scope == ScopeUser || scope == ScopeMount {
		h.PID, h.StartTime = 0, 0 // it belongs to no process; it ends when idle
	}
	return h, err
}

// HolderOfCreator describes a process as records do.
func HolderOfCreator(c *process.Creator) lease.Holder {
	return lease.Holder{Host: process.HostName(), User: process.UserName(c.UID), UID: c.UID, PID: c.PID, StartTime: c.Start, Purpose: c.Name}
}

// WithSubreaper makes a process the subreaper of a holder of scope tree: an ancestor that gets the
// orphans among the holder's descendants for children (PR_SET_CHILD_SUBREAPER of prctl(2)), so
// that a double fork does not cut them off. They belong to the holder, and the lease lasts while
// the subreaper lives, which gives it back. The scope key names it.
func WithSubreaper(h lease.Holder, by process.Identity) lease.Holder {
	if Scope(h.Scope) == ScopeTree && by.PID != 0 {
		h.ScopeKey = processKey(by.ID())
	}
	return h
}

// subreaper is who adopts the orphans of a holder, if anybody does.
func subreaper(h lease.Holder) (process.ID, bool) {
	by, ok := parseProcessKey(h.ScopeKey)
	return by, ok && Scope(h.Scope) == ScopeTree && by.PID > 0
}

// roots are the processes of which all descendants belong to a holder of scope tree.
func roots(h lease.Holder) []process.ID {
	all := []process.ID{{PID: h.PID, Start: h.StartTime}}
	if by, ok := subreaper(h); ok {
		all = append(all, by)
	}
	return all
}

// Below reports whether a process is the one that a lease is bound to or descends from it, whoever
// else counts as the holder by its scope.
func Below(h lease.Holder, id process.Identity) bool {
	return h.PID != 0 && id.PID != 0 && isLocal(h) && id.DescendsFrom(roots(h)...)
}
