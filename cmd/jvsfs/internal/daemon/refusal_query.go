package daemon

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

const (
	// recentRefusals is how many kinds of refusals status shows.
	recentRefusals = 32
	// answeredRefusals bounds the answer to explain and exec.
	answeredRefusals = 256
)

// refusalQuery says which refusals a request asks for.
type refusalQuery struct {
	uid   uint32            // who asks: root sees all, others see those of their own processes
	since time.Time         // zero: as far back as is remembered
	of    func(writer) bool // nil: of anybody
	limit int
}

// recent answers a query, the oldest first. complete is false if there were more than the daemon remembers, or
// than the limit.
func (h *refusalHistory) recent(q refusalQuery, at func(lease.WorktreeID) string) (views []api.RefusalView, complete bool) {
	events, complete := h.since(q.since)
	kept := events[:0]
	for _, e := range events {
		if (q.uid == 0 || q.uid == e.who.uid) && (q.of == nil || q.of(e.who)) {
			kept = append(kept, e)
		}
	}
	merged := mergeThreads(kept)
	if over := len(merged) - q.limit; over > 0 {
		merged, complete = merged[over:], false
	}
	views = make([]api.RefusalView, 0, len(merged))
	for _, e := range merged {
		views = append(views, e.view(at))
	}
	return views, complete
}

// mergeThreads merges equal refusals of the threads of a process within a second. The result is ordered by the
// latest of each.
func mergeThreads(events []refusalEvent) []refusalEvent {
	type key struct {
		process.ID
		kind alike
	}
	sort.Slice(events, func(i, j int) bool { return events[i].first.Before(events[j].first) })
	seen := map[key]int{}
	var out []refusalEvent
	for _, e := range events {
		k := key{e.who.ID, e.kind}
		if e.who.PID != 0 {
			k.kind.tid = 0
		}
		i, known := seen[k]
		if !known || e.first.Sub(out[i].first) >= api.AlikeWithin {
			seen[k] = len(out)
			out = append(out, e)
			continue
		}
		out[i].count += e.count
		if e.last.After(out[i].last) {
			out[i].last, out[i].latest = e.last, e.latest
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].last.Before(out[j].last) })
	return out
}

func (e *refusalEvent) view(at func(lease.WorktreeID) string) api.RefusalView {
	v := api.RefusalView{
		At: e.last.UTC(), Worktree: string(e.kind.worktree), PID: e.who.PID, UID: e.who.uid, Command: e.who.command,
		Op: e.kind.op.String(), Class: string(e.kind.class), WouldRefuse: e.kind.observed, Count: e.count,
		Sentence: human.Printable(e.latest.Sentence()),
	}
	v.Next = nextAt(e.latest.Next(), at(e.kind.worktree))
	return v
}

// plainPath matches a path that needs no quotes in any shell.
var plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./@%+=:,-]+$`) })

// nextAt puts the worktree into the advice, so that it can be pasted.
func nextAt(next, path string) string {
	if !plainPath().MatchString(path) {
		return next
	}
	return strings.ReplaceAll(next, "<worktree>", path)
}

// advised puts the worktree into the advice of an explanation.
func (d *mount) advised(x gate.Explanation) gate.Explanation {
	x.Next = nextAt(x.Next, d.pathOf(x.Worktree))
	return x
}

// pathOf is the path of a worktree of this mount.
func (d *mount) pathOf(id lease.WorktreeID) string {
	if rel := d.rootOf(id); id != "" && rel != "." { // "": what belongs to no worktree
		return d.mountpoint() + "/" + rel
	}
	return d.mountpoint()
}

// statusFor is the status, with the recent refusals that the asking user may see.
func (d *Daemon) statusFor(uid uint32) api.MountStatus {
	st := d.status()
	st.Version = api.BuildOf().Version
	st.RecentRefusals, _ = d.trail.history.recent(refusalQuery{uid: uid, limit: recentRefusals}, d.pathOf)
	return st
}

// answerRefusals lists the recent refusals of a process, its descendants or its session, and says whether the
// process may write there now.
func (d *refusalTrail) answerRefusals(s *session, req api.Refusals) (api.Response, error) {
	of, pid, err := d.writersMeant(s, req)
	if err != nil {
		return api.Response{}, err
	}
	q := refusalQuery{
		uid: s.peer.UID, of: of, limit: answeredRefusals,
		since: time.Now().Add(-time.Duration(req.SinceMS) * time.Millisecond),
	}
	var a api.RefusalAnswer
	var complete bool
	a.Refusals, complete = d.history.recent(q, d.pathOf)
	a.Incomplete, a.Paths = !complete, map[string]string{}
	for _, v := range a.Refusals {
		a.Paths[v.Worktree] = d.pathOf(lease.WorktreeID(v.Worktree))
	}
	if pid != 0 {
		a.Worktrees = d.explainAll(d.judged(s, req, pid), s, req, a.Refusals)
	}
	return api.ResultOf(a)
}

// judged is the process of which to say where it may write: who asks for its session is the
// child of the process that it names, which may be a harness in another session.
func (d *refusalTrail) judged(s *session, req api.Refusals, pid int) int {
	if id, ok := d.peerIs(s.peer); ok && req.Session && id.PPID == pid {
		return id.PID
	}
	return pid
}

// writersMeant finds the writers that a request is about. A process that has ended is found by its number; pid
// is 0 then.
func (d *refusalTrail) writersMeant(s *session, req api.Refusals) (of func(writer) bool, pid int, err error) {
	if s.pidfd == nil && req.PID != 0 {
		if req.Start == 0 && !s.peer.numbersAgree() {
			return nil, 0, api.NoProcess(req.PID, errUnseenNumber)
		}
		p := process.ID{PID: req.PID, Start: req.Start}
		return func(w writer) bool { return w.below(p) }, 0, nil
	}
	who, err := d.subjectOf(s, req.Process)
	if err != nil {
		return nil, 0, err
	}
	defer who.close()
	id := who.id
	return func(w writer) bool {
		return w.below(id.ID()) || req.Session && w.inSessionOf(id)
	}, id.PID, nil
}

// explainAll says whether the process may write now: in each worktree where it was refused, and in all
// worktrees of a mount that it uses.
func (d *refusalTrail) explainAll(pid int, s *session, req api.Refusals, refused []api.RefusalView) []gate.Explanation {
	wanted := map[string]bool{}
	for _, v := range refused {
		wanted[v.Worktree] = true
	}
	if req.Stands {
		if w, err := d.worktreeAt(req.Path, s.peer.UID); err == nil {
			wanted[string(w.id)] = true // nobody may have written there yet
		}
	}
	meant := slices.DeleteFunc(d.registry.all(), func(w *worktree) bool { return !req.Stands && !wanted[string(w.id)] })
	var late map[*worktree]bool
	if d.far {
		late = d.glanceAll(meant) // one wait for all of them
	}
	var out []gate.Explanation
	for _, w := range meant {
		x := d.explainedInTime(w, pid, late[w])
		x.Path = d.pathOf(w.id)
		out = append(out, d.advised(x))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Worktree < out[j].Worktree })
	return out
}

// explainedInTime is Guard.Explain. late: the store has just not answered.
func (d *refusalTrail) explainedInTime(w *worktree, pid int, late bool) gate.Explanation {
	if !d.far {
		return w.guard.Explain(pid)
	}
	if !late {
		var x gate.Explanation
		if _, ended := d.asks.endsWithin(func() { x = w.guard.Explain(pid) }, storePatience); ended {
			return x
		}
	}
	f := d.silent(w)
	return gate.Explanation{Worktree: w.id, PID: pid, Class: f.Class, Sentence: f.Message, Next: f.Next}
}
