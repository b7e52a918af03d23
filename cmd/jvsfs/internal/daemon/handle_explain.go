package daemon

import (
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// explaining says who may write where, and why.
type explaining struct {
	resolver *gate.Resolver
	paths    *paths.Paths
	mode     func() gate.Enforce
	errno    string // of refusals, and what writing to a free worktree does, as they are configured
	onFree   string
	survey   *leases.Survey
	rules    func(gate.Explanation, string, process.Identity) rulelocks.Explanation // what rules add to it
	tree     interface {
		WorktreeOf(rel string) (lease.WorktreeID, bool)
		RuleAt(rel string) *layout.Rule
		Where(rel string) gate.Where
		Shared(rel string) bool
		Ready(rel string) bool
	}
}

// explain says why the named process may write, or may not.
func (d *explaining) explain(w *leases.Worktree, s *control.Session, req api.Explain) (api.Response, error) {
	who, err := s.Subject(d.resolver, req.Process)
	if err != nil {
		return api.Response{}, err
	}
	var resp api.Response
	ask := func() {
		defer who.Close()
		resp, err = d.explained(w, who, s.Peer.UID, req)
	}
	begun, ended := d.survey.Ask(ask)
	if !begun {
		who.Close()
	}
	if !ended {
		return api.Response{}, d.survey.Silent(w)
	}
	return resp, err
}

func (d *explaining) explained(w *leases.Worktree, who control.Subject, uid uint32, req api.Explain) (api.Response, error) {
	if err := d.paths.RefuseLink(w.ID, req.Path, uid, "says nothing about that"); err != nil {
		return api.Response{}, err
	}
	x := w.Guard.ExplainAt(who.ID.PID, d.tree.Where(req.Path))
	x.Path = req.Path
	if d.tree.Shared(req.Path) && d.onFree != string(gate.DenyOnFree) && d.mode() != gate.ReadOnly {
		x = shared(x)
	} else {
		x = refusals.Advised(x, d.paths.PathOf)
	}
	r := d.rules(x, req.Path, who.ID)
	r.NotPermitted = d.paths.NotPermitted(req.Path, who.ID, uid)
	return api.ResultOf(r)
}

// shared is the explanation of a path that all checkouts of a git repository share.
func shared(x gate.Explanation) gate.Explanation {
	x.Allowed, x.WouldRefuse, x.Class, x.Errno, x.Next, x.Exempt, x.Holder = true, false, "", "", "", "", nil
	x.Sentence = "all checkouts of the repository share it, and git keeps its writers apart by lock files; objects are added, and never changed"
	return x
}

// explainBeside says whether a process may write to a path that lies in no worktree. is is false for a path in
// one: its guard is asked.
func (d *explaining) explainBeside(s *control.Session, req api.Explain) (resp api.Response, is bool, err error) {
	rule, mode := d.tree.RuleAt(req.Path), d.mode()
	if _, in := d.tree.WorktreeOf(req.Path); in && rule.Kind != layout.Snapshot {
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
	case rule.Kind == layout.Snapshot && d.tree.Ready(req.Path):
		d.refused(&x, gate.Refusal{Reason: gate.ReasonReady})
		x.Allowed, x.WouldRefuse = mode == gate.Observing, mode == gate.Observing
	case rule.Kind == layout.Snapshot:
		x.Sentence = "it belongs to a snapshot of JVS that is not READY: until then the modes of files and directories decide"
	case rule.Kind == layout.AppendOnly:
		x.Sentence = "it is the audit chain: anybody may append to it, and nobody may change it"
	}
	r := d.rules(refusals.Advised(x, d.paths.PathOf), req.Path, who.ID)
	if !d.survey.Far() { // the answer must not wait for a store
		r.NotPermitted = d.paths.NotPermitted(req.Path, who.ID, s.Peer.UID)
	}
	resp, err = api.ResultOf(r)
	return resp, true, err
}

// refused makes x the explanation of a refusal.
func (d *explaining) refused(x *gate.Explanation, no gate.Refusal) {
	x.Allowed, x.Class, x.Errno = false, no.Class(), d.errno
	x.Sentence, x.Next = human.Printable(no.Sentence()), no.Next()
}
