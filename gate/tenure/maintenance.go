package tenure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Window is a maintenance window: for a while its holder, and nobody else, changes what rules protect at a path. It is a
// tenure without a lock file: an epoch of each lock that guards the path, and of a guard of its own for what is fixed
// there (once, keep, append). So what is in flight has taken effect when it ends. It is in the memory of one daemon
// alone: the next one does not know it.
type Window struct {
	book     *Book
	path     string  // below the source
	locks    []*Lock // by their ids
	rules    []*lockfile.Rule
	number   uint64
	holder   lease.Holder
	since    time.Time
	until    time.Time
	deadline time.Duration // boot clock
	guard    *gate.Guard

	timer *time.Timer
	ends  atomic.Bool   // somebody ends it
	how   Ending        // read it when over is closed
	over  chan struct{} // closed when it has ended
}

// Opening asks for a window.
type Opening struct {
	Path   string
	IsDir  bool // then also what lies below it
	Holder lease.Holder
	Lasts  time.Duration
	By     process.Caller
	// Record makes it durable that the window is about to be open. After an error there is none.
	Record func(WindowView) error
}

// Ending is why a window has ended.
type Ending string

// The endings. The values stand in the audit chain.
const (
	EndClosed Ending = "closed"
	EndTime   Ending = "time"
	EndHolder Ending = "holder_ended"
	EndDaemon Ending = "daemon_end"
	EndFailed Ending = "not_begun" // writes in flight did not end in time
)

// ErrUnprotected says that no rule protects anything at a path.
var ErrUnprotected = errors.New("no rule says anything of it")

// ErrReplaced says that another daemon is about to have the book, or has it.
var ErrReplaced = errors.New("the daemon of the mount is being replaced: try again")

// HeldError says that the holder of a lock lives: a window does not take anything from anybody.
type HeldError struct{ View }

func (e HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s", e.Lock, e.HolderText())
}

// OverlapError says that another window is open there.
type OverlapError struct{ WindowView }

func (e OverlapError) Error() string {
	return fmt.Sprintf("a maintenance window of %s is open at %q until %s", e.HolderText(), e.Path, e.Until.Local().Format(time.DateTime))
}

// Open opens a window. It returns when nothing of anybody else is in flight there. The wait is bounded by ctx.
func (b *Book) Open(ctx context.Context, o Opening) (*Window, error) {
	if !b.opening.LockOr(ctx.Done()) {
		return nil, ctx.Err()
	}
	defer b.opening.Unlock()
	if !b.is(leads) {
		return nil, ErrReplaced
	}
	w, err := b.plan(o)
	if err != nil {
		return nil, err
	}
	before, err := w.open(ctx, o)
	if err != nil {
		w.letGo()
		return nil, err
	}
	if err = b.landed(ctx, before); err != nil {
		b.end(w, EndFailed, process.Caller{})
		return nil, fmt.Errorf("writes in flight did not end in time: %w", err)
	}
	b.look() // the holder may have ended before it was watched
	return w, nil
}

// plan finds what a window covers. letGo must follow.
func (b *Book) plan(o Opening) (*Window, error) {
	p := b.cfg.Rules.At(o.Path)
	locks := slices.Concat(p.Locks, p.Guards)
	rules := slices.Concat(p.Once, p.Keep, p.Append)
	if o.IsDir {
		locks = append(locks, b.cfg.Rules.Below(o.Path)...)
		for _, r := range b.cfg.Rules.All() {
			if r.Fixes() {
				rules = append(rules, r)
			}
		}
	}
	for _, i := range locks {
		rules = append(rules, i.Rule)
	}
	if len(rules) == 0 {
		return nil, ErrUnprotected
	}
	w := &Window{
		book: b, path: o.Path, holder: o.Holder, number: b.number.Add(1), since: time.Now(), until: time.Now().Add(o.Lasts), deadline: b.now() + o.Lasts,
		over: make(chan struct{}),
	}
	for _, r := range b.cfg.Rules.All() { // each once, in their order
		if slices.Contains(rules, r) {
			w.rules = append(w.rules, r)
		}
	}
	slices.SortFunc(locks, func(a, b lockfile.Instance) int { return cmp.Compare(a.ID(), b.ID()) }) // the order of turns
	locks = slices.CompactFunc(locks, func(a, b lockfile.Instance) bool { return a.ID() == b.ID() })
	for _, i := range locks {
		w.locks = append(w.locks, b.lockOf(i))
	}
	return w, nil
}

func (w *Window) letGo() {
	for _, l := range w.locks {
		l.Done()
	}
}

// open begins the window in the turns of its locks. before counts what is in flight where rules fix something.
func (w *Window) open(ctx context.Context, o Opening) (before *Passing, err error) {
	b := w.book
	b.trees.RLock()
	defer b.trees.RUnlock()
	taken, err := w.take(ctx)
	defer w.giveBack(taken)
	if err != nil {
		return nil, err
	}
	if err = w.mayOpen(); err != nil {
		return nil, err
	}
	if err = o.Record(w.View()); err != nil {
		return nil, err
	}
	before = w.begin()
	view := w.View()
	b.tell(Event{Kind: WindowOpened, Window: &view, Holder: w.holder, Number: w.number, By: o.By})
	return before, nil
}

// take waits for the turns of all locks. It returns how many it has got.
func (w *Window) take(ctx context.Context) (taken int, err error) {
	for i, l := range w.locks {
		if !l.turn.LockOr(ctx.Done()) {
			return i, ctx.Err()
		}
	}
	return len(w.locks), nil
}

func (w *Window) giveBack(taken int) {
	for _, l := range w.locks[:taken] {
		l.turn.Unlock()
	}
}

// mayOpen refuses while somebody holds one of the locks, or has a window there.
func (w *Window) mayOpen() error {
	for _, l := range w.locks {
		if l.window.Load() == nil {
			l.checkFile()
		}
		if v := l.View(); v.State == StateHeld {
			return HeldError{v}
		}
	}
	for _, other := range w.book.open() {
		if other.Covers(w.path, w.book.cfg.Rules.At(w.path)) || w.Covers(other.path, w.book.cfg.Rules.At(other.path)) || w.sharesLock(other) {
			return OverlapError{other.View()}
		}
	}
	return nil
}

func (w *Window) sharesLock(other *Window) bool {
	return slices.ContainsFunc(w.locks, func(l *Lock) bool { return slices.Contains(other.locks, l) })
}

// begin keeps everybody else out. The caller has the turns.
func (w *Window) begin() (before *Passing) {
	b := w.book
	w.guard = gate.NewGuard(gate.GuardConfig{
		Worktree: b.cfg.Worktree, Mode: gate.Exclusive, OnFree: gate.DenyOnFree, Errno: b.cfg.Errno, Lock: &gate.LockFile{Rule: w.ruleNames(), Path: w.path},
		Until: func() time.Time { return w.until }, Clock: b.cfg.Clock, Resolver: b.cfg.Resolver, Exits: b.cfg.Exits, Enforcement: b.cfg.Enforcement, OnRefusal: b.cfg.OnRefusal,
	})
	w.guard.Bind((*windowFollower)(w))
	b.files.Prepare(w.guard)
	w.guard.Open(w.grant())
	for _, l := range w.locks {
		l.beginWindow(w)
	}
	for _, r := range w.rules {
		b.counts[r].windows.Add(1)
	}
	w.timer = time.AfterFunc(w.nextLook(), b.look)
	return b.add(w)
}

func (w *Window) grant() lease.Grant {
	return lease.Grant{Token: lease.Token(w.number), Holder: w.holder, Deadline: w.deadline}
}

func (w *Window) loss() lease.Loss {
	return lease.Loss{Kind: lease.LossReleased, Token: lease.Token(w.number), Holder: w.holder}
}

func (w *Window) ruleNames() string {
	names := make([]string, 0, len(w.rules))
	for _, r := range w.rules {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// beginWindow makes the guard's epoch the window's. A holder that has ended keeps its lock file, if it stays the same
// until the window ends. The caller has the turn.
func (l *Lock) beginWindow(w *Window) {
	l.mu.Lock()
	h := l.held
	l.last = l.book.now()
	l.mu.Unlock()
	if h != nil && !h.over {
		h.over = true
		l.close(h, lease.LossHolderGone)
		l.book.tell(Event{Kind: HolderGone, Lock: l, Holder: h.holder, Number: h.number})
	}
	l.callIn()
	l.window.Store(w)
	l.guard.Admit(w.holder)
	l.guard.Open(w.grant())
}

// endWindow returns when nothing of the window is in flight. A lock that was taken in the window is its taker's. The
// caller has the turn.
func (l *Lock) endWindow(w *Window) {
	l.guard.Close(w.loss())
	l.window.Store(nil)
	l.checkFile()
	l.mu.Lock()
	h := l.held
	l.last = l.book.now()
	l.mu.Unlock()
	switch {
	case h == nil:
	case l.book.cfg.Resolver.Gone(h.holder):
		l.book.mayHaveEnded(l)
	default:
		l.open(h)
	}
}

// goesInWindow ends a tenure whose lock file was removed or replaced by the holder of a window. Of one that has ended
// it is told who did it.
func (l *Lock) goesInWindow(h *held, by process.Caller) {
	l.end(lease.LossReleased)
	e := Event{Kind: Released, Lock: l, Holder: h.holder, Number: h.number}
	if h.over {
		e.Kind, e.By = Broken, by
	}
	l.book.tell(e)
}

func (l *Lock) openUntil() (end time.Time) {
	if w := l.window.Load(); w != nil {
		end = w.until
	}
	return end
}

// end ends a window, and returns when it is over. The first cause is the one that is told.
func (b *Book) end(w *Window, how Ending, by process.Caller) {
	if w.ends.Swap(true) {
		<-w.over
		return
	}
	defer close(w.over)
	w.how = how
	w.timer.Stop()
	b.trees.RLock()
	taken, _ := w.take(context.Background()) // which does not end
	w.guard.Close(w.loss())
	for _, l := range w.locks {
		l.endWindow(w)
	}
	b.remove(w)
	w.giveBack(taken)
	b.trees.RUnlock()
	w.letGo()
	view := w.View()
	b.tell(Event{Kind: WindowClosed, Window: &view, Holder: w.holder, Number: w.number, By: by, How: how})
}

// windowFollower is a window as its guard's Leaseholder.
type windowFollower Window

// Acquire is never asked.
func (f *windowFollower) Acquire(context.Context, lease.Holder) (lease.Grant, error) {
	return lease.Grant{}, errFollows
}

// Observe is asked when the window is over.
func (f *windowFollower) Observe() (lease.Head, lease.Judgement) {
	return lease.Head{}, lease.Judgement{State: lease.Free}
}

// Late is never asked: no mutation is late.
func (f *windowFollower) Late(lease.LateWrite) error { return nil }

// Past tells nothing: there was nobody before.
func (f *windowFollower) Past(lease.Token, lease.Token) ([]lease.Past, error) { return nil, nil }

// Look has the holder looked at.
func (f *windowFollower) Look() { f.book.look() }
