package daemon

import (
	"fmt"
	"sync"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// execLeases are the leases that jvsfs exec keeps for its command, by the connections on which it
// waits for their loss. Safe for concurrent use.
type execLeases struct {
	mu sync.Mutex
	by map[lease.Token]int // by the first token of their holder: it may go on under later ones
}

// begin counts a connection until the function is called.
func (k *execLeases) begin(t lease.Token) (end func()) {
	k.count(t, 1)
	return func() { k.count(t, -1) }
}

func (k *execLeases) count(t lease.Token, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[lease.Token]int{}
	}
	if k.by[t] += by; k.by[t] == 0 {
		delete(k.by, t)
	}
}

func (k *execLeases) has(t lease.Token) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[t] > 0
}

// insideExec is the answer to an acquire by what jvsfs exec keeps the lease for: it has it.
func (d *leaseOps) insideExec(w *worktree, s *control.Session, req lockop.Take, who control.Subject) (api.Response, bool, error) {
	grant, held := w.keeper.Held()
	if !held || req.Robs || !w.execLeases.has(grant.Since) || req.Scope != "" && req.Scope != grant.Holder.Scope || !gate.Below(grant.Holder, who.ID) {
		return api.Response{}, false, nil
	}
	resp, err := d.leased(w, s, grant)
	resp.Note = fmt.Sprintf("process %d belongs to the command for which jvsfs exec keeps the lease: nothing is added", who.ID.PID)
	return resp, true, err
}

// releaseInsideExec is the answer to a release by what jvsfs exec keeps the lease for, and
// that does not name the holder: it is not its to end.
func (d *leaseOps) releaseInsideExec(w *worktree, s *control.Session, req api.Release) (api.Response, bool, error) {
	grant, held := w.keeper.Held()
	if !held || req.Explicit || req.Token != 0 || !w.execLeases.has(grant.Since) {
		return api.Response{}, false, nil
	}
	if id, ok := s.Peer.Identify(d.resolver); !ok || !gate.Below(grant.Holder, id) {
		return api.Response{}, false, nil
	}
	resp, err := api.ResultOf(api.Kept{Holder: grant.Holder.PID})
	resp.Token = grant.Token
	return resp, true, err
}
