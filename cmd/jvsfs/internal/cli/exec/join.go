package exec

import (
	"encoding/json"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// aboutUs asks for the lease, and whether this process belongs to its holder.
func aboutUs(rel string) api.LookAtLock {
	return api.LookAtLock{Where: api.Where{Path: rel}, Process: api.Process{PID: os.Getpid(), Explicit: true}}
}

// within tells whether this process belongs to a holder on purpose, and descends from it: CMD
// is a part of what that does then. One that only counts as the holder by its user, session,
// cgroup or mount waits for its turn. A lease that writing took passes to CMD instead.
func within(resp api.Response) (api.LockStatus, bool) {
	var st api.LockStatus
	if json.Unmarshal(resp.Result, &st) != nil || st.Member == nil || !*st.Member || st.State != lease.Held.String() {
		return st, false
	}
	rec := api.RecordOf(st.Record)
	if rec == nil || rec.Auto {
		return st, false
	}
	h := rec.Holder()
	return st, h.Scope == string(gate.ScopeTree) || host.DescendsFrom(h.PID, h.StartTime)
}
