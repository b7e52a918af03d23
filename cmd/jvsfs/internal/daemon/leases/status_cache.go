package leases

import (
	"fmt"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// storePatience is how long status and explain wait for the file system of the records. A client waits for 2 s, and people
// for one.
const storePatience = 400 * time.Millisecond

// storeAsks are the calls for status and explain that may wait for a store at a time. One that hangs cannot be ended: each keeps a thread
// and a descriptor until the store answers, however often people ask again.
type storeAsks chan struct{}

// mostStoreAsks is for the agents of a large machine that all ask at the same moment of a store that answers.
const mostStoreAsks = 16

// endsWithin runs f, and waits for its turn and its end until the time is over. If it has begun and not ended it goes on, and what it needs
// must stay.
func (a storeAsks) endsWithin(f func(), timeout time.Duration) (begun, ended bool) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case a <- struct{}{}: // a turn that is free is taken, however late it is
	default:
		select {
		case a <- struct{}{}:
		case <-t.C:
			return false, false
		}
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-a; close(done) }()
		f()
	}()
	select {
	case <-done:
		return true, true
	case <-t.C:
		return true, false
	}
}

// Ask runs f. Where the records are far it waits no longer than storePatience: see endsWithin.
func (d *Survey) Ask(f func()) (begun, ended bool) {
	if !d.far {
		f()
		return true, true
	}
	return d.asks.endsWithin(f, storePatience)
}

// InTime runs f, and reports whether it has ended within storePatience, wherever the records are: see endsWithin.
func (d *Survey) InTime(f func()) (ended bool) {
	_, ended = d.asks.endsWithin(f, storePatience)
	return ended
}

// Silent reports whether a look at the records is under way that has not ended.
func (w *Worktree) Silent() bool {
	_, silent := w.cache.last()
	return !silent.IsZero()
}

// statusCache is what was last seen of a worktree's record and root, and the look that is under way. The file system may hang; then there
// is one look that waits for it, however many ask.
type statusCache struct {
	mu    sync.Mutex
	seen  seenStatus
	since time.Time     // when the look began that is under way
	done  chan struct{} // closed when it ends; nil: none is
}

// seenStatus is the result of a look.
type seenStatus struct {
	head   lease.Head
	judged lease.Judgement
	status gate.Status
	over   bool
	at     time.Time
}

// begin begins a look, unless one is under way. The channel is closed when it has ended. fresh: it began now.
func (g *statusCache) begin(look func() seenStatus) (done <-chan struct{}, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done != nil {
		return g.done, false
	}
	ended := make(chan struct{})
	g.since, g.done = time.Now(), ended
	go func() {
		seen := look()
		g.mu.Lock()
		g.seen, g.done = seen, nil
		g.mu.Unlock()
		close(ended)
	}()
	return ended, true
}

// last is the latest result, and since when there has been no answer; zero if there has.
func (g *statusCache) last() (seen seenStatus, silent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done != nil {
		silent = g.since
	}
	return g.seen, silent
}

// LookAll looks at worktrees whose records are far, for storePatience at most. One whose look was under way already, and ends, is
// looked at once more: what the caller has just done must show. late are those whose look has not ended.
func (d *Survey) LookAll(all []*Worktree) (late map[*Worktree]bool) {
	if !d.far {
		return nil
	}
	look := func(w *Worktree) func() seenStatus {
		return func() seenStatus {
			head, j := w.Keeper.Observe()
			st := w.Guard.StatusBy(head, j)
			return seenStatus{head, j, st, d.isOver(st), time.Now()}
		}
	}
	t := time.NewTimer(storePatience)
	defer t.Stop()
	begun := make(map[*Worktree]<-chan struct{}, len(all))
	old := map[*Worktree]bool{}
	for _, w := range all {
		done, fresh := w.cache.begin(look(w))
		begun[w], old[w] = done, !fresh
	}
	for again := range 2 {
		for w, done := range begun {
			if again == 1 && !old[w] {
				continue
			}
			select {
			case <-done:
			case <-t.C:
				return lateOf(begun) // what was last seen must do
			}
			if again == 0 && old[w] {
				begun[w], _ = w.cache.begin(look(w))
			}
		}
	}
	return nil
}

func lateOf(begun map[*Worktree]<-chan struct{}) map[*Worktree]bool {
	late := map[*Worktree]bool{}
	for w, done := range begun {
		select {
		case <-done:
		default:
			late[w] = true
		}
	}
	return late
}

// cachedStatus is the status by the last look. If the caller's own one is late, the detail says so, and what only the record tells is old.
// A look that is under way is no silence: another caller may have begun it just now.
func (w *Worktree) cachedStatus(late bool) (st gate.Status, over bool) {
	seen, silent := w.cache.last()
	if !late || silent.IsZero() {
		return seen.status, seen.over
	}
	return w.whileSilent(seen, silent), false
}

// Observed is the record and its judgement, for storePatience at most: then as they were last seen, and the reason says so.
func (d *Survey) Observed(w *Worktree) (lease.Head, lease.Judgement) {
	if !d.far {
		return w.Keeper.Observe()
	}
	late := d.LookAll([]*Worktree{w})
	seen, silent := w.cache.last()
	if !late[w] || silent.IsZero() {
		return seen.head, seen.judged
	}
	return seen.head, w.judgedSilent(seen, silent)
}

// judgedSilent judges what was last seen by the clock of now.
func (w *Worktree) judgedSilent(seen seenStatus, silent time.Time) lease.Judgement {
	j := lease.Judgement{State: lease.Unreadable}
	if !seen.at.IsZero() {
		j = lease.Judge(lease.SystemClock().Wall(), seen.head, w.Guard.Policy())
	}
	j.Reason = fmt.Sprintf("the file system of the lease records has not answered for %s", human.Span(time.Since(silent)))
	if !seen.at.IsZero() {
		j.Reason += "; the record is as it was at " + human.Clock(seen.at)
	}
	return j
}

// Silent says that the store has not answered for storePatience: nobody can know, and what was known.
func (d *Survey) Silent(w *Worktree) *api.Failure {
	seen, _ := w.cache.last()
	st := w.whileSilent(seen, time.Now().Add(-storePatience))
	known := "nothing was known of its lease"
	if st.HolderID != "" {
		known = fmt.Sprintf("its lease was last seen to be that of %s (token %d)", human.Printable(st.HolderID), st.Token)
	}
	f := &api.Failure{Class: lease.ClassStoreFailed,
		Message: fmt.Sprintf("the file system of the lease records does not answer, so a write to worktree %s waits for it; %s", st.Worktree, known),
		Next:    "look at that file system: its servers, its client on this host, and the network between them"}
	if d.authority != "" {
		f.Message = fmt.Sprintf("%s does not answer, so nobody but who holds worktree %s may write to it; %s", d.authority, st.Worktree, known)
		f.Next = "look at etcd and at the network; if they are well, at the file system of the control directory"
	}
	return f
}

// whileSilent is what is known of a worktree since its records have not answered.
func (w *Worktree) whileSilent(seen seenStatus, silent time.Time) gate.Status {
	j := w.judgedSilent(seen, silent)
	st := w.Guard.StatusBy(seen.head, j)
	st.SilentMS = max(time.Since(silent).Milliseconds(), 1)
	st.Detail = j.Reason
	return st
}
