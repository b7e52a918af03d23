package tenure

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// windows are those that are open.
type windows struct {
	opening wait.Mutex // whoever opens one
	unended []*Passing // what a window waits for, and those before that were given up; who has opening
	list    atomic.Pointer[[]*Window]
	listing sync.Mutex // whoever changes the list
	passing atomic.Pointer[Passing]
}

// open are all windows. The slice is not changed.
func (s *windows) open() []*Window {
	if all := s.list.Load(); all != nil {
		return *all
	}
	return nil
}

// add makes a window known. before counts what may not know it.
func (s *windows) add(w *Window) (before *Passing) {
	s.listing.Lock()
	defer s.listing.Unlock()
	all := append(slices.Clone(s.open()), w)
	s.list.Store(&all)
	before = s.passing.Swap(newPassing())
	before.close()
	return before
}

func (s *windows) remove(w *Window) {
	s.listing.Lock()
	defer s.listing.Unlock()
	all := slices.DeleteFunc(slices.Clone(s.open()), func(one *Window) bool { return one == w })
	s.list.Store(&all)
}

// landed waits until no change is in flight that may not know the window, before, or one that was given up earlier. The caller has opening.
func (s *windows) landed(ctx context.Context, before *Passing) error {
	s.unended = append(slices.DeleteFunc(s.unended, (*Passing).over), before)
	for _, p := range s.unended {
		select {
		case <-p.none:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Passing counts changes of what rules fix, from before a change looks for windows until it has been made. So a window
// that was opened meanwhile waits for it.
type Passing struct {
	n      atomic.Int64
	closed atomic.Bool
	once   sync.Once
	none   chan struct{} // closed when no change is left that began before the window
}

func newPassing() *Passing { return &Passing{none: make(chan struct{})} }

// Pass counts a change. Leave must follow. The order is essential: count first, then look for windows.
func (b *Book) Pass() *Passing {
	for {
		p := b.passing.Load()
		if p.n.Add(1); b.passing.Load() == p {
			return p
		}
		p.Leave()
	}
}

// Leave ends the change.
func (p *Passing) Leave() {
	if p.n.Add(-1) == 0 && p.closed.Load() {
		p.once.Do(func() { close(p.none) })
	}
}

func (p *Passing) close() {
	p.closed.Store(true)
	if p.n.Load() == 0 {
		p.once.Do(func() { close(p.none) })
	}
}

// over reports whether a closed one has ended.
func (p *Passing) over() bool { return p.n.Load() == 0 }

// Over are the windows that are open over a path, of which the rules say what p says.
func (b *Book) Over(path string, p lockfile.Place) (over []*Window) {
	for _, w := range b.open() {
		if w.Covers(path, p) {
			over = append(over, w)
		}
	}
	return over
}

// SomeWindow reports whether any is open.
func (b *Book) SomeWindow() bool { return len(b.open()) > 0 }

// Covers reports whether a path belongs to the window: it is that of the window or below it, or one of its locks
// guards it.
func (w *Window) Covers(path string, p lockfile.Place) bool {
	if w.path == "" || path == w.path || strings.HasPrefix(path, w.path+"/") {
		return true
	}
	ours := func(i lockfile.Instance) bool {
		return slices.ContainsFunc(w.locks, func(l *Lock) bool { return l.Rule == i.Rule && l.Path == i.Path })
	}
	return slices.ContainsFunc(p.Guards, ours) || slices.ContainsFunc(p.Locks, ours)
}

// Guard is the guard of what rules fix in the window.
func (w *Window) Guard() *gate.Guard { return w.guard }

// lookAtWindows ends those whose time or holder has ended.
func (b *Book) lookAtWindows(ending *sync.WaitGroup) {
	for _, w := range b.open() {
		if how := w.shouldEnd(); how != "" {
			ending.Go(func() { b.end(w, how, process.Caller{}) })
			continue
		}
		w.timer.Reset(w.nextLook())
	}
}

func (w *Window) shouldEnd() Ending {
	switch {
	case w.book.now() >= w.deadline:
		return EndTime
	case w.book.cfg.Resolver.Gone(w.holder):
		return EndHolder
	}
	return ""
}

// windowLook is how often a holder is looked at besides: nobody tells of the end of a session whose leader ended before, and
// a timer stands still while the machine sleeps.
const windowLook = 2 * time.Second

func (w *Window) nextLook() time.Duration {
	return min(max(w.deadline-w.book.now(), time.Millisecond), windowLook)
}

// EndWindows ends all windows: the daemon ends.
func (b *Book) EndWindows() {
	if b == nil {
		return
	}
	for _, w := range b.open() {
		b.end(w, EndDaemon, process.Caller{})
	}
}

// At is the window to which a path belongs: the one that was opened there, or the only one that covers it. more says that there
// are several.
func (b *Book) At(path string) (w *Window, more bool) {
	over := b.Over(path, b.cfg.Rules.At(path))
	if i := slices.IndexFunc(over, func(w *Window) bool { return w.path == path }); i >= 0 {
		return over[i], false
	}
	if len(over) != 1 {
		return nil, len(over) > 1
	}
	return over[0], false
}

// Holder is who has the window.
func (w *Window) Holder() lease.Holder { return w.holder }

// Close ends the window at the wish of somebody, and returns when it is over.
func (w *Window) Close(by process.Caller) { w.book.end(w, EndClosed, by) }

// Over is closed when the window has ended.
func (w *Window) Over() <-chan struct{} { return w.over }

// How is why it has ended. It may be asked when it is over.
func (w *Window) How() Ending { return w.how }
