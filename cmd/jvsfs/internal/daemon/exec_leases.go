package daemon

import (
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
)

// insideExec is the answer to an acquire by what jvsfs exec keeps the lease for: it has it.
func (d *leaseOps) insideExec(w *leases.Worktree, s *control.Session, req lockop.Take, who control.Subject) (api.Response, bool, error) {
	grant, held := w.Keeper.Held()
	if !held || req.Robs || !w.Exec.Has(grant.Since) || req.Scope != "" && req.Scope != grant.Holder.Scope || !gate.Below(grant.Holder, who.ID) {
		return api.Response{}, false, nil
	}
	resp, err := d.leased(w, s, grant)
	resp.Note = fmt.Sprintf("process %d belongs to the command for which jvsfs exec keeps the lease: nothing is added", who.ID.PID)
	return resp, true, err
}

// releaseInsideExec is the answer to a release by what jvsfs exec keeps the lease for, and
// that does not name the holder: it is not its to end.
func (d *leaseOps) releaseInsideExec(w *leases.Worktree, s *control.Session, req api.Release) (api.Response, bool, error) {
	grant, held := w.Keeper.Held()
	if !held || req.Explicit || req.Token != 0 || !w.Exec.Has(grant.Since) {
		return api.Response{}, false, nil
	}
	if id, ok := s.Peer.Identify(d.resolver); !ok || !gate.Below(grant.Holder, id) {
		return api.Response{}, false, nil
	}
	resp, err := api.ResultOf(api.Kept{Holder: grant.Holder.PID})
	resp.Token = grant.Token
	return resp, true, err
}
