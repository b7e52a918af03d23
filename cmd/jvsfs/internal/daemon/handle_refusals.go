package daemon

import (
	"slices"
	"sort"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

const (
	// shownRefusals is how many kinds of refusals status shows.
	shownRefusals = 32
	// answeredRefusals bounds the answer to explain and exec.
	answeredRefusals = 256
)

// recentRefusals answers who asks what was refused of late, and what may be written now.
type recentRefusals struct {
	trail    *refusals.Trail
	resolver *gate.Resolver
	paths    *paths.Paths
	survey   *leases.Survey
	all      func() []*leases.Worktree
	find     func(rel string, uid uint32) (*leases.Worktree, error) // worktreeFinder.at
}

// answerRefusals lists the recent refusals of a process, its descendants or its session, and says whether the
// process may write there now.
func (d *recentRefusals) answerRefusals(s *control.Session, req api.Refusals) (api.Response, error) {
	of, pid, err := d.writersMeant(s, req)
	if err != nil {
		return api.Response{}, err
	}
	q := refusals.Query{
		UID: s.Peer.UID, Of: of, Limit: answeredRefusals,
		Since: time.Now().Add(-time.Duration(req.SinceMS) * time.Millisecond),
	}
	var a api.RefusalAnswer
	var complete bool
	a.Refusals, complete = d.trail.Recent(q, d.paths.PathOf)
	a.Incomplete, a.Paths = !complete, map[string]string{}
	for _, v := range a.Refusals {
		a.Paths[v.Worktree] = d.paths.PathOf(lease.WorktreeID(v.Worktree))
	}
	if pid != 0 {
		a.Worktrees = d.explainAll(d.judged(s, req, pid), s, req, a.Refusals)
	}
	return api.ResultOf(a)
}

// judged is the process of which to say where it may write: who asks for its session is the
// child of the process that it names, which may be a harness in another session.
func (d *recentRefusals) judged(s *control.Session, req api.Refusals, pid int) int {
	if id, ok := s.Peer.Identify(d.resolver); ok && req.Session && id.PPID == pid {
		return id.PID
	}
	return pid
}

// writersMeant finds the writers that a request is about. A process that has ended is found by its number; pid
// is 0 then.
func (d *recentRefusals) writersMeant(s *control.Session, req api.Refusals) (of func(refusals.Writer) bool, pid int, err error) {
	if s.Pidfd == nil && req.PID != 0 {
		if req.Start == 0 && !s.Peer.NumbersAgree() {
			return nil, 0, api.NoProcess(req.PID, control.ErrUnseenNumber)
		}
		p := process.ID{PID: req.PID, Start: req.Start}
		return func(w refusals.Writer) bool { return w.Below(p) }, 0, nil
	}
	who, err := s.Subject(d.resolver, req.Process)
	if err != nil {
		return nil, 0, err
	}
	defer who.Close()
	id := who.ID
	return func(w refusals.Writer) bool {
		return w.Below(id.ID()) || req.Session && w.InSessionOf(id)
	}, id.PID, nil
}

// explainAll says whether the process may write now: in each worktree where it was refused, and in all
// worktrees of a mount that it uses.
func (d *recentRefusals) explainAll(pid int, s *control.Session, req api.Refusals, refused []api.RefusalView) []gate.Explanation {
	wanted := map[string]bool{}
	for _, v := range refused {
		wanted[v.Worktree] = true
	}
	if req.Stands {
		if w, err := d.find(req.Path, s.Peer.UID); err == nil {
			wanted[string(w.ID)] = true // nobody may have written there yet
		}
	}
	meant := slices.DeleteFunc(d.all(), func(w *leases.Worktree) bool { return !req.Stands && !wanted[string(w.ID)] })
	late := d.survey.LookAll(meant) // one wait for all of them
	var out []gate.Explanation
	for _, w := range meant {
		x := d.explainedInTime(w, pid, late[w])
		x.Path = d.paths.PathOf(w.ID)
		out = append(out, refusals.Advised(x, d.paths.PathOf))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Worktree < out[j].Worktree })
	return out
}

// explainedInTime is Guard.Explain. late: the store has just not answered.
func (d *recentRefusals) explainedInTime(w *leases.Worktree, pid int, late bool) gate.Explanation {
	if !late {
		var x gate.Explanation
		if _, ended := d.survey.Ask(func() { x = w.Guard.Explain(pid) }); ended {
			return x
		}
	}
	f := d.survey.Silent(w)
	return gate.Explanation{Worktree: w.ID, PID: pid, Class: f.Class, Sentence: f.Message, Next: f.Next}
}
