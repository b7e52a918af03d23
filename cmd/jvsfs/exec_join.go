package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
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

// join watches the lease of the holder that this process belongs to, if there is one: it is
// neither taken nor given back for CMD.
func (h *remoteHolding) join(ctx context.Context) (bool, error) {
	self, err := process.OpenPidfd(os.Getpid())
	if err != nil {
		return false, err
	}
	defer host.CloseFile(self)
	resp, err := client.Ask(ctx, h.t.Mount, aboutUs(h.t.Rel), self, nil)
	if err != nil {
		return false, err
	}
	st, ok := within(resp)
	if !ok {
		return false, nil
	}
	h.joined, h.lease.token = true, st.Token
	c, resp, err := h.watchAt(ctx, h.t.Mount, self)
	if f := api.AsFailure(err); f != nil && f.Class == lease.ClassLockNotHeld {
		h.joined = false // it ended meanwhile, or another mount has it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.use(c)
	if len(resp.Record) == 0 { // of a daemon of another release
		resp.Record = st.Record
	}
	return true, h.keep(c, resp)
}

// join is that without a mount, where nothing tells of the loss.
func (h *localHolding) join() bool {
	resp, err := lockop.PeekStatus(h.t.Place, h.terms.Policy, aboutUs(""))
	if err != nil {
		return false // taking it says why
	}
	st, ok := within(resp)
	if ok {
		h.lease = heldLease{worktree: h.t.Place.Root, holder: api.RecordOf(st.Record).HolderID, token: st.Token, joined: true}
	}
	return ok
}
