package gate

import (
	"strconv"

	"github.com/jvsfs/jvsfs/lease"
)

// Adopted makes a process the adopter of a holder of scope tree: an ancestor that gets the
// orphans among the holder's descendants for children (PR_SET_CHILD_SUBREAPER of prctl(2)), so
// that a double fork does not cut them off. They belong to the holder, and the lease lasts while
// the adopter lives, which gives it back. The scope key names it.
func Adopted(h lease.Holder, by Identity) lease.Holder {
	if Scope(h.Scope) == ScopeTree && by.PID != 0 {
		h.ScopeKey = strconv.Itoa(by.PID) + ":" + strconv.FormatUint(by.Start, 10)
	}
	return h
}

// adopter is who adopts the orphans of a holder, if anybody does.
func adopter(h lease.Holder) (process, bool) {
	pid, start, ok := parseSessionKey(h.ScopeKey)
	return process{pid, start}, ok && Scope(h.Scope) == ScopeTree && pid > 0
}

// roots are the processes of which all descendants belong to a holder of scope tree.
func roots(h lease.Holder) []process {
	all := []process{{h.PID, h.StartTime}}
	if by, ok := adopter(h); ok {
		all = append(all, by)
	}
	return all
}

// Below reports whether a process is the one that a lease is bound to or descends from it, whoever
// else counts as the holder by its scope.
func Below(h lease.Holder, id Identity) bool {
	return h.PID != 0 && id.PID != 0 && h.BootID == host().bootID && h.PIDNamespace == host().pidNS && descends(id, roots(h))
}
