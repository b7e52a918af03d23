package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// Window is a time in which nothing changes in a worktree, so that a snapshot of it is one state: every mutation
// waits, the holder's as well (Freeze). It is over when who asked for it says so, and at the latest when its time
// has passed. It is broken if anything may have changed meanwhile; then writers go on at once. It changes no
// lease: renewals go on. Safe for concurrent use.
//
// A process that is to read meanwhile must not write (Windowed.By): it would wait for itself. It is refused.
type Window struct {
	guard  *Guard
	freeze *Freeze
	of     Windowed
	since  time.Time
	until  time.Time

	mu    sync.Mutex
	state windowState
	timer *time.Timer
	over  chan struct{} // closed when the window is over
}

// Windowed is what a window is for.
type Windowed struct {
	By      lease.Holder // the process that asks, and its descendants; without a PID: not known
	Who     string       // the same, for people
	Command string       // for people
	Lasts   time.Duration
	// Flush makes everything durable. nil: not asked for.
	Flush func(context.Context) error
}

// Quiesce opens a window. It returns when no mutation is in flight, what was stored through mappings has been
// written, and everything is durable. The wait is bounded by ctx; mutations wait meanwhile. After an error
// everything goes on as before. Otherwise End must follow.
func (g *Guard) Quiesce(ctx context.Context, of Windowed) (*Window, error) {
	w := &Window{guard: g, of: of, over: make(chan struct{})}
	if err := w.mayOpen(); err != nil {
		return nil, err
	}
	if err := w.writeBack(ctx); err != nil { // most of it, while nobody waits
		return nil, w.unavailable("what was written could not be made durable in time", err, "look at the disk, then try again with a longer --wait")
	}
	g.cfg.Enforcement.retries.LetReturn(ctx, g)
	for !w.freezes() {
		if err := w.awaitThaw(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.settle(ctx); err != nil {
		w.breakOff(err)
		return nil, err
	}
	return w, nil
}

// mayOpen says why a window of this mount would not keep every writer out, if it would not.
func (w *Window) mayOpen() error {
	g := w.guard
	if g.cfg.Mode == Shared {
		return w.unavailable("the worktree is in mode shared, in which other mounts may write unseen", nil, "make it exclusive, or stop its writers yourself")
	}
	if g.overlaps.Load() {
		return w.unavailable("files are open through the daemon that was replaced, whose writes this one does not see", nil, "let those who have them close them, then try again")
	}
	head, j := g.keeper.Observe()
	e := g.open.Load()
	if e != nil && e.id.Token() == head.Token || e == nil && g.headState(head, j) == lease.Free {
		return nil
	}
	return w.unavailable("the lease is held or in doubt elsewhere, and this mount cannot stop writers there", nil, "jvsfs lock status names who holds it: quiesce it there")
}

// unavailable is the error if no window can be had.
func (w *Window) unavailable(what string, cause error, next string) error {
	return &lease.Error{Class: lease.ClassConsistencyUnavailable, Worktree: w.guard.cfg.Worktree, Err: cause, Next: next,
		Message: fmt.Sprintf("worktree %s cannot be quiesced: %s", w.guard.cfg.Worktree, what)}
}

// freezes makes mutations wait. It returns false if the guard is frozen already.
func (w *Window) freezes() bool {
	w.freeze = &Freeze{stop: newStop(never), of: w.guard.cfg.Enforcement, guards: []*Guard{w.guard}, window: w}
	if w.guard.frozen.CompareAndSwap(nil, w.freeze) {
		w.freeze.of.windows.Add(1)
		return true
	}
	return false
}

// awaitThaw waits for the end of the freeze that is in the way.
func (w *Window) awaitThaw(ctx context.Context) error {
	f := w.guard.frozen.Load()
	if f == nil {
		return nil
	}
	if wait.For(ctx, f.decided) == nil {
		return nil
	}
	if f.window != nil {
		return w.unavailable("it is quiesced already, for "+f.window.of.Command, nil, "wait until that has ended: --wait 1m")
	}
	return w.unavailable("its root is just being renamed", nil, "try again")
}

// settle waits until nothing changes any more.
func (w *Window) settle(ctx context.Context) error {
	g := w.guard
	head, _ := g.keeper.Observe()
	w.step(func(s windowState) windowState { s.token = head.Token; return s })
	if err := w.mayOpen(); err != nil { // again: from now on a lease that somebody takes elsewhere is found at the end
		return err
	}
	// Twice, because what was refused in between has left its page as it is: from the bar on, a store is noticed.
	for _, step := range []func(context.Context) error{w.drain, g.runYield, w.bar, g.runYield, w.drain} {
		if err := step(ctx); err != nil {
			return w.unavailable(w.inFlight(), err, "jvsfs status --json counts the writes in flight; try again with a longer --wait")
		}
	}
	if err := w.flush(ctx); err != nil {
		return w.unavailable("what was written could not be made durable in time", err, "look at the disk, then try again with a longer --wait")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.broken != nil {
		return w.unavailable(w.state.broken.Error(), nil, "try again when nobody stores through mappings, or end who does")
	}
	w.since = time.Now()
	w.until = w.since.Add(w.of.Lasts)
	w.timer = time.AfterFunc(w.of.Lasts, func() { w.breakOff(errWindowElapsed) })
	return nil
}

func (w *Window) writeBack(ctx context.Context) error {
	if err := w.guard.runYield(ctx); err != nil {
		return err
	}
	return w.flush(ctx)
}

func (w *Window) flush(ctx context.Context) error {
	if w.of.Flush == nil {
		return nil
	}
	return w.of.Flush(ctx)
}

func (w *Window) inFlight() string {
	n := int64(0)
	for _, e := range w.epochs() {
		n += e.inflight.Load()
	}
	return fmt.Sprintf("%d writes in flight have not ended in time", n)
}

// bar lets nothing in any more, and no stores through mappings, either.
func (w *Window) bar(context.Context) error {
	w.step(windowState.settled)
	return nil
}

// epochs returns all epochs in which something of the worktree may be in flight.
func (w *Window) epochs() []*epoch {
	mode := w.guard.cfg.Enforcement
	return append(append(mode.former(), mode.now.Load().observed), w.guard.epochs()...)
}

func (w *Window) drain(ctx context.Context) error {
	for _, e := range w.epochs() {
		if err := e.drain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step is one event. The end of the window lets writers go on.
func (w *Window) step(event func(windowState) windowState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.state.phase
	w.state = event(w.state)
	if was == windowOver || w.state.phase != windowOver {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.freeze.of.windows.Add(-1)
	w.freeze.Thaw()
	close(w.over)
}

func (w *Window) breakOff(why error) {
	w.step(func(s windowState) windowState { return s.breaks(why) })
}

// admits reports whether a mutation passes although the window has begun.
func (w *Window) admits(r Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.Stored && w.state.phase == windowSettling
}

// waits waits for the end of the window. It returns false if the mutation does not wait for it.
func (w *Window) waits(f *Freeze, r Request) bool {
	if r.Stored {
		w.step(windowState.stored)
		return true
	}
	return !w.isOwn(r.Caller) && f.await(f.of, r)
}

// sendForWindow has a caller make its call again that would wait while the kernel has a directory locked, in which the
// snapshot reads. It waits for the window where it holds no lock (conflict.go).
func (a attempt) sendForWindow(f *Freeze) bool {
	if f.window.isOwn(a.Caller) {
		return false
	}
	return a.cfg.Enforcement.retries.Send(a.Caller.TID, wait.Retry[*queued]{
		Of: a.Guard, Until: f.window.last(), Wait: &queued{guard: a.Guard, op: a.Op, freeze: f},
	})
}

// last is when the window ends at the latest, as far as that is known.
func (w *Window) last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until.IsZero() { // it settles
		return time.Now().Add(w.of.Lasts)
	}
	return w.until
}

// isOwn reports whether the caller is who asked for the window.
func (w *Window) isOwn(c process.Caller) bool {
	if w.of.By.PID == 0 || c.TID == 0 || w.guard.cfg.Resolver == nil {
		return false
	}
	id, err := w.guard.cfg.Resolver.Identify(c)
	return err == nil && w.guard.cfg.Resolver.Member(w.of.By, id)
}

// Over is closed when the window is over.
func (w *Window) Over() <-chan struct{} { return w.over }

// Until is when the window ends by itself.
func (w *Window) Until() time.Time { return w.until }

// Since is when it began.
func (w *Window) Since() time.Time { return w.since }

// Token is the one under which the worktree stood still.
func (w *Window) Token() lease.Token {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.token
}

// End ends the window. Without an error nothing has changed while it was open: the last look for stores through
// mappings and for leases elsewhere comes before the first writer goes on. It may be called again.
func (w *Window) End(ctx context.Context) error {
	if err := w.guard.runYield(ctx); err != nil {
		w.breakOff(fmt.Errorf("it could not be found out whether a process has stored through a mapping: %w", err))
	}
	if w.guard.overlaps.Load() {
		w.breakOff(errors.New("another daemon has taken its place"))
	}
	head, _ := w.guard.keeper.Observe()
	w.step(func(s windowState) windowState { return s.ended(head.Token) })
	return w.Err()
}

// Abandon ends the window, because who asked for it has gone.
func (w *Window) Abandon(why error) error {
	w.breakOff(why)
	return w.Err()
}

// Err says why the window is broken. It is nil while it is open.
func (w *Window) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.broken == nil {
		return nil
	}
	return &lease.Error{Class: lease.ClassPartialSnapshot, Worktree: w.guard.cfg.Worktree,
		Message: fmt.Sprintf("worktree %s did not stand still: %v", w.guard.cfg.Worktree, w.state.broken),
		Next:    "throw the snapshot away and take it again"}
}

// Quiesced reports whether a worktree of the mount has a window.
func (s *Enforcement) Quiesced() bool { return s.windows.Load() > 0 }

// window returns the window of the guard, or nil.
func (g *Guard) window() *Window {
	if f := g.frozen.Load(); f != nil {
		return f.window
	}
	return nil
}

// told tells the window, if there is one, what becomes of the lease.
func (g *Guard) told(event func(windowState) windowState) {
	if w := g.window(); w != nil {
		w.step(event)
	}
}

// Stored says that a store through a mapping of a file in the worktree was refused: nothing has landed, but the kernel's
// pages have shown it to readers.
func (g *Guard) Stored() { g.told(windowState.stored) }

// BreakWindow ends the window of the guard, if there is one.
func (g *Guard) BreakWindow(why error) {
	g.told(func(s windowState) windowState { return s.breaks(why) })
}

// Quiesced is a window, as an admin sees it. The JSON names are stable.
type Quiesced struct {
	By      string     `json:"by"` // the process, in the form of a holder
	Command string     `json:"command,omitempty"`
	Since   *time.Time `json:"since,omitempty"` // nil: writes in flight are being waited for
	Until   *time.Time `json:"until,omitempty"`
}

// waits says what becomes of a write meanwhile, "" for none.
func (q *Quiesced) waits() string {
	switch {
	case q == nil:
		return ""
	case q.Until == nil:
		return "; the worktree is about to be quiesced for " + q.Command + ": the write waits"
	}
	return fmt.Sprintf("; the worktree is quiesced for %s until %s at the latest: the write waits for that", q.Command, q.Until.Format(time.TimeOnly))
}

// Quiesced returns the window for people, nil if there is none.
func (g *Guard) Quiesced() *Quiesced {
	w := g.window()
	if w == nil {
		return nil
	}
	q := &Quiesced{By: w.of.Who, Command: w.of.Command}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		since, until := w.since, w.until
		q.Since, q.Until = &since, &until
	}
	return q
}
