package gate

import (
	"fmt"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// A writer that meets another holder waits for its turn where the admin wants it
// (GuardConfig.WaitOnConflict), instead of being refused: the holder may be a command that ends
// in a moment. Who waits stands in one line with all others that do.
//
// A call that makes or removes a name waits with its directory locked in the kernel, and the
// holder may need that very directory: both would wait for the end of the other. Such a caller
// is sent round (Request.Round): the call is answered with ESTALE, upon which the kernel walks
// the path once more (retry_estale in fs/namei.c), and asks for names or attributes on the way
// without a lock. There it waits (Enforcement.Await), and makes the call again under its lease.

// wait is one caller's, from its first conflict on.
type wait struct {
	guard *Guard
	op    Op
	until time.Time
	turn  *Turn
	pause time.Duration
	over  bool // it has waited for long enough: what is decided now counts
}

const (
	conflictPause = time.Millisecond
	// conflictPauseMost bounds how late the end of a holder elsewhere is seen.
	conflictPauseMost = 25 * time.Millisecond
)

// willing reports whether a refusal is worth waiting for its cause to go away.
func (g *Guard) willing(m Enforce, r Request, no *Refusal) bool {
	if g.cfg.WaitOnConflict <= 0 || m != Enforcing || r.Epoch != NoEpoch || r.wait != nil && r.wait.over {
		return false
	}
	switch no.Reason {
	case ReasonHeldByOther, ReasonHeldElsewhere, ReasonClosing, ReasonQueued:
		return true
	}
	return false
}

// outOfTurn reports whether somebody else is to have the lease first.
func (g *Guard) outOfTurn(r Request) bool {
	if g.cfg.WaitOnConflict <= 0 {
		return false
	}
	if r.wait == nil {
		return g.line.Busy()
	}
	return !r.wait.turn.Mine()
}

// enterInLine is Enter for a caller that waits. Who may not write may not keep others from it.
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

// enter decides again until that comes to something, or the time is over.
func (w *wait) enter(r Request) (Pass, *Refusal) {
	for {
		opened := w.guard.opened.next() // it may be the caller's own session that comes to hold
		p, no := w.guard.Enter(r)
		if no == nil || w.over || !w.guard.willing(Enforcing, r, no) {
			return p, no
		}
		w.over = !w.await(r, opened)
	}
}

// await waits until it is worth deciding again, and is false when no time is left, too many
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

// changed is closed when the epoch that is open is over. Where none is, a moment is all there is.
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

// Await is where a caller waits that was sent round: it asks for something that needs no
// permission, and holds no lock. It returns at once for everybody else. The lease is taken for
// it when its turn comes, so that nobody comes in between.
func (s *Enforcement) Await(c Caller, signal <-chan struct{}) {
	w := s.rounds.take(c.TID)
	if w == nil {
		return
	}
	p, no := w.enter(Request{Op: w.op, Caller: c, Signal: signal, wait: w, probe: true})
	if no == nil {
		p.Leave()
	}
	w.turn.Leave()
}

// Awaited reports whether callers are under way to where they wait: they get there only if they
// have to ask (Await).
func (s *Enforcement) Awaited() bool { return s.rounds.away.Load() > 0 }

// Line is who waits for the lease, for those who acquire on purpose to stand in.
func (g *Guard) Line() *Line { return &g.line }

// noRight is the no to whom the lease has nothing to do with.
func (g *Guard) noRight(r Request) *Refusal {
	return &Refusal{Reason: ReasonNoRight, Op: r.Op, Errno: syscall.EPERM, Worktree: g.cfg.Worktree}
}

// OutOfTurn is the error of an acquisition while others have asked before.
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
