package gate

import (
	"fmt"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// With GuardConfig.WaitOnConflict a writer that meets another holder waits for its turn and is not
// refused: the holder may be a command that ends soon. All who wait stand in one line.
//
// A call that makes or removes a name would wait while the kernel has its directory locked. The
// holder may need this directory, and then each would wait for the other. So such a caller is sent
// round (Request.Round): the call is answered with ESTALE. Then the kernel walks the path once more
// (retry_estale in fs/namei.c), and asks for names or attributes on the way without a lock. There
// the caller waits (Enforcement.Await), and makes the call again under its lease.

// wait is the wait of one caller, from its first conflict on.
type wait struct {
	guard *Guard
	op    Op
	until time.Time
	turn  *Turn
	pause time.Duration
	over  bool // it has waited long enough: the next decision counts

	freeze *Freeze // of a window, which is all that is waited for; nil: for the lease
}

const (
	conflictPause = time.Millisecond
	// conflictPauseMost bounds how late the end of a holder on another mount is seen.
	conflictPauseMost = 25 * time.Millisecond
)

// willing reports whether the request waits for the cause of a refusal to go away.
func (g *Guard) willing(m Enforce, r Request, no *Refusal) bool {
	if g.cfg.WaitOnConflict <= 0 || m != Enforcing || r.Epoch != NoEpoch || r.wait != nil && r.wait.over {
		return false
	}
	switch no.Reason {
	case ReasonHeldByOther, reasonHeldElsewhere, reasonClosing, reasonQueued:
		return true
	}
	return false
}

// outOfTurn reports whether somebody else gets the lease first.
func (g *Guard) outOfTurn(r Request) bool {
	if g.cfg.WaitOnConflict <= 0 {
		return false
	}
	if r.wait == nil {
		return g.line.Busy()
	}
	return !r.wait.turn.Mine()
}

// enterInLine is Enter for a caller that waits. A caller that may not write must not keep others out by waiting.
func (g *Guard) enterInLine(r Request) (Pass, *Refusal) {
	if r.May != nil && !r.May() {
		return Pass{}, g.noRight(r)
	}
	w := g.cfg.Enforcement.rounds.back(r.Caller.TID, g)
	if w == nil {
		w = g.newWait(r.Op)
		if r.Round && g.cfg.Enforcement.rounds.send(r.Caller.TID, w) {
			return Pass{}, &Refusal{Reason: ReasonComeAgain, Op: r.Op, Errno: syscall.ESTALE, Worktree: g.cfg.Worktree, Caller: r.Caller}
		}
	}
	defer w.turn.Leave()
	r.wait = w
	return w.enter(r)
}

func (g *Guard) newWait(op Op) *wait {
	return &wait{guard: g, op: op, until: time.Now().Add(g.cfg.WaitOnConflict), turn: g.line.Join(), pause: conflictPause}
}

// enter decides again until the answer is final, or the time is over.
func (w *wait) enter(r Request) (Pass, *Refusal) {
	for {
		opened := w.guard.opened.next() // the caller's own session may get the lease
		p, no := w.guard.Enter(r)
		if no == nil || w.over || !w.guard.willing(Enforcing, r, no) {
			return p, no
		}
		w.over = !w.await(r, opened)
	}
}

// await waits until the guard should decide again. It returns false if no time is left, too many
// wait, or the caller is being killed.
func (w *wait) await(r Request, opened <-chan struct{}) bool {
	left := time.Until(w.until)
	if left <= 0 {
		return false
	}
	off := make(chan struct{})
	end, ok := w.guard.cfg.Enforcement.waits(r, func() { close(off) })
	if !ok {
		return false
	}
	defer end()
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-w.turn.Stand():
	case <-opened:
		return true
	case <-off:
		return false
	case <-t.C:
		return false
	}
	select {
	case <-w.guard.changed(w):
		return true
	case <-opened:
		return true
	case <-off:
		return false
	case <-t.C:
		return false
	}
}

// changed returns a channel that is closed when the open epoch is over. Without an epoch it is closed after a pause.
func (g *Guard) changed(w *wait) <-chan struct{} {
	if e := g.open.Load(); e != nil {
		if g.hasEnded(e) {
			g.keeper.Look()
		}
		return e.gone
	}
	over := make(chan struct{})
	time.AfterFunc(w.pause, func() { close(over) })
	w.pause = min(2*w.pause, conflictPauseMost)
	return over
}

// Await is where a caller waits that was sent round: here it asks for something that needs no
// permission, and holds no lock. For everybody else it returns at once. When the turn comes, the
// lease is taken for the caller, so that nobody comes in between.
func (s *Enforcement) Await(c process.Caller, signal <-chan struct{}) {
	w := s.rounds.take(c.TID)
	if w == nil {
		return
	}
	if w.freeze != nil {
		w.freeze.await(s, Request{Op: w.op, Caller: c, Signal: signal})
		s.rounds.free(c.TID)
		return
	}
	p, no := w.enter(Request{Op: w.op, Caller: c, Signal: signal, wait: w, probe: true})
	if no == nil {
		p.Leave()
	}
	w.turn.Leave()
}

// Awaited reports whether callers are on the way to where they wait. They get there only if the
// kernel has to ask (Await).
func (s *Enforcement) Awaited() bool { return s.rounds.away.Load() > 0 }

// Line returns the line for the lease. Those who acquire on purpose stand in it, too.
func (g *Guard) Line() *Line { return &g.line }

// noRight is the no if the lease has nothing to do with it.
func (g *Guard) noRight(r Request) *Refusal {
	return &Refusal{Reason: reasonNoRight, Op: r.Op, Errno: syscall.EPERM, Worktree: g.cfg.Worktree}
}

// OutOfTurn is the error of an acquisition if others have asked before.
func (g *Guard) OutOfTurn() error {
	head, j := g.keeper.Observe()
	e := &lease.Error{Class: lease.ClassLockConflict, Worktree: g.cfg.Worktree, File: head.File,
		Message: fmt.Sprintf("others have asked for the lease of worktree %s before, and wait for it", g.cfg.Worktree),
		Next:    "wait for it, too: --wait 1m"}
	if j.State == lease.Held && head.Record != nil {
		e.Holder = head.Record
		e.Message = fmt.Sprintf("worktree %s is held by %s; %s", g.cfg.Worktree, describe(head.Record.Holder()), e.Message)
	}
	return e
}
