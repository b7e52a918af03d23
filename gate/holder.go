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
