package refusals

import (
	"regexp"
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

// Query says which refusals a request asks for.
type Query struct {
	UID   uint32            // who asks: root sees all, others see those of their own processes
	Since time.Time         // zero: as far back as is remembered
	Of    func(Writer) bool // nil: of anybody
	Limit int
}

// recent answers a query, the oldest first. complete is false if there were more than the daemon remembers, or
// than the limit.
func (h *history) recent(q Query, at func(lease.WorktreeID) string) (views []api.RefusalView, complete bool) {
	events, complete := h.since(q.Since)
	kept := events[:0]
	for _, e := range events {
		if (q.UID == 0 || q.UID == e.who.uid) && (q.Of == nil || q.Of(e.who)) {
			kept = append(kept, e)
		}
	}
	merged := mergeThreads(kept)
	if over := len(merged) - q.Limit; over > 0 {
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
func mergeThreads(events []event) []event {
	type key struct {
		process.ID
		kind alike
	}
	sort.Slice(events, func(i, j int) bool { return events[i].first.Before(events[j].first) })
	seen := map[key]int{}
	var out []event
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

func (e *event) view(at func(lease.WorktreeID) string) api.RefusalView {
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

// Advised puts the worktree into the advice of an explanation.
func Advised(x gate.Explanation, at func(lease.WorktreeID) string) gate.Explanation {
	x.Next = nextAt(x.Next, at(x.Worktree))
	return x
}
