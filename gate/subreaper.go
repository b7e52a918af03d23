package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

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
