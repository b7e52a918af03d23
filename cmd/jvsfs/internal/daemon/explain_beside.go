package daemon

import (
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// explainBeside says whether a process may write to a path that lies in no worktree. is is false for a path in
// one: its guard is asked.
func (d *leaseOps) explainBeside(s *control.Session, req api.Explain) (resp api.Response, is bool, err error) {
	rule, mode := d.fs.RuleAt(req.Path), d.mode.Mode()
	if _, in := d.fs.WorktreeOf(req.Path); in && rule.Kind != layout.Snapshot {
		return resp, false, nil
	}
	who, err := s.Subject(d.resolver, req.Process)
	if err != nil {
		return resp, true, err
	}
	defer who.Close()
	x := gate.Explanation{Path: req.Path, PID: who.ID.PID, Allowed: true,
		Sentence: "it lies beside the worktrees: no lease guards it, and the modes of files and directories decide"}
	switch {
	case rule.Kind == layout.SealedOff:
		d.refused(&x, gate.Refusal{Reason: gate.ReasonSealed})
	case mode == gate.ReadOnly:
		d.refused(&x, gate.Refusal{Reason: gate.ReasonReadOnly, Worktree: lease.WorktreeID(filepath.Base(d.paths.Mountpoint()))})
	case rule.Kind == layout.BadName:
		d.refused(&x, gate.Refusal{Reason: gate.ReasonBadWorktree, Worktree: lease.WorktreeID(rule.Name)})
		x.Allowed, x.WouldRefuse = mode == gate.Observing, mode == gate.Observing
	case rule.Kind == layout.Snapshot && d.fs.Ready(req.Path):
		d.refused(&x, gate.Refusal{Reason: gate.ReasonReady})
		x.Allowed, x.WouldRefuse = mode == gate.Observing, mode == gate.Observing
	case rule.Kind == layout.Snapshot:
		x.Sentence = "it belongs to a snapshot of JVS that is not READY: until then the modes of files and directories decide"
	case rule.Kind == layout.AppendOnly:
		x.Sentence = "it is the audit chain: anybody may append to it, and nobody may change it"
	}
	r := d.ruleLocks.Explain(refusals.Advised(x, d.paths.PathOf), req.Path, who.ID)
	if !d.far { // the answer must not wait for a store
		r.NotPermitted = d.paths.NotPermitted(req.Path, who.ID, s.Peer.UID)
	}
	resp, err = api.ResultOf(r)
	return resp, true, err
}

// refused makes x the explanation of a refusal.
func (d *leaseOps) refused(x *gate.Explanation, no gate.Refusal) {
	x.Allowed, x.Class, x.Errno = false, no.Class(), d.cfg.Errno
	x.Sentence, x.Next = human.Printable(no.Sentence()), no.Next()
}
