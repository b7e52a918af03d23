package gate

import (
	"fmt"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// With GuardConfig.WaitOnConflict a writer that meets another holder waits for its turn and is not
// refused: the holder may be a command that ends soon. All who wait stand in one queue.
//
// A call that makes or removes a name would wait while the kernel has its directory locked. The
// holder may need this directory, and then each would wait for the other. So such a call is
// answered with ESTALE (Request.EstaleRetry): its caller waits on the way of the kernel's next try,
// where no lock is held (wait.Retries, Enforcement.Await), and makes the call again under its lease.

// queued is the wait of one caller, from its first conflict on.
type queued struct {
	guard  *Guard
	op     Op
	until  time.Time
	ticket *wait.Ticket
	pause  wait.Backoff
	over   bool // it has waited long enough: the next decision counts

	freeze *Freeze // of a window, which is all that is waited for; nil: for the lease
}

const (
	conflictPause = time.Millisecond
	// conflictPauseMost bounds how late the end of a holder on another mount is seen.
	conflictPauseMost = 25 * time.Millisecond
)

// willing reports whether the request waits for the cause of a refusal to go away.
func (a attempt) willing(no *Refusal) bool {
	if a.cfg.WaitOnConflict <= 0 || a.mode != Enforcing || a.Epoch != NoEpoch || a.queued != nil && a.queued.over {
		return false
	}
	switch no.Reason {
	case ReasonHeldByOther, reasonHeldElsewhere, reasonClosing, reasonQueued:
		return true
	}
	return false
}

// outOfTurn reports whether somebody else gets the lease first.
func (a attempt) outOfTurn() bool {
	if a.cfg.WaitOnConflict <= 0 {
		return false
	}
	if a.queued == nil {
		return a.queue.Busy()
	}
	return !a.queued.ticket.Mine()
}

// enterQueued is Enter for a caller that waits. A caller that may not write must not keep others out by waiting.
func (a attempt) enterQueued() (Pass, *Refusal) {
	if a.May != nil && !a.May() {
		return Pass{}, a.noRight()
	}
	retries := &a.cfg.Enforcement.retries
	w, ok, again := retries.Return(a.Caller.TID, a.Guard)
	if !ok {
		w = a.newQueued()
		if !again && a.EstaleRetry && retries.Send(a.Caller.TID, wait.Retry[*queued]{Of: a.Guard, Until: w.until, Ticket: w.ticket, Wait: w}) {
			return Pass{}, a.estaleRetry()
		}
	}
	defer w.ticket.Leave()
	a.queued = w
	return w.enter(a.Request)
}

// estaleRetry is the answer to a caller that is to make its call again, and waits before.
func (a attempt) estaleRetry() *Refusal {
	return &Refusal{Reason: ReasonEstaleRetry, Op: a.Op, Errno: syscall.ESTALE, Worktree: a.cfg.Worktree, Caller: a.Caller}
}

func (a attempt) newQueued() *queued {
	return &queued{
		guard: a.Guard, op: a.Op, until: time.Now().Add(a.cfg.WaitOnConflict), ticket: a.queue.Join(),
		pause: wait.NewBackoff(conflictPause, conflictPauseMost),
	}
}

// enter decides again until the answer is final, or the time is over.
func (w *queued) enter(r Request) (Pass, *Refusal) {
	for {
		opened := w.guard.opened.Next() // the caller's own session may get the lease
		p, no := w.guard.Enter(r)
		if no == nil || w.over || !(attempt{w.guard, r, Enforcing}).willing(no) {
			return p, no
		}
		w.over = !w.await(r, opened)
	}
}

// await waits until the guard should decide again. It returns false if no time is left, too many
// wait, or the caller is being killed.
func (w *queued) await(r Request, opened <-chan struct{}) bool {
	left := time.Until(w.until)
	return left > 0 && w.guard.cfg.Enforcement.limit.Until(r.waiter(), left, opened, w.ticket.Stand, w.changed) == wait.Done
}

// changed returns a channel that is closed when the open epoch is over. Without an epoch it is closed after a pause.
func (w *queued) changed() <-chan struct{} {
	e := w.guard.open.Load()
	if e == nil {
		return w.pause.Over()
	}
	if w.guard.hasEnded(e) {
		w.guard.keeper.Look()
	}
	return e.gone
}

// Await is where a caller waits whose call was answered with ESTALE: here it asks for something that needs no
// permission, and holds no lock. For everybody else it returns at once. When the turn comes, the
// lease is taken for the caller, so that nobody comes in between.
func (s *Enforcement) Await(c process.Caller, signal <-chan struct{}) {
	w, ok := s.retries.Arrive(c.TID)
	if !ok {
		return
	}
	if w.freeze != nil {
		w.freeze.await(s, Request{Op: w.op, Caller: c, Signal: signal})
		s.retries.Freed(c.TID)
		return
	}
	p, no := w.enter(Request{Op: w.op, Caller: c, Signal: signal, queued: w, probe: true})
	if no == nil {
		p.End()
	}
	w.ticket.Leave()
}

// Awaited reports whether callers are on the way to where they wait. They get there only if the
// kernel has to ask (Await).
func (s *Enforcement) Awaited() bool { return s.retries.Away() }

// Queue returns the queue for the lease. Those who acquire on purpose stand in it, too.
func (g *Guard) Queue() *wait.Queue { return &g.queue }

// noRight is the no if the lease has nothing to do with it.
func (a attempt) noRight() *Refusal {
	return &Refusal{Reason: reasonNoRight, Op: a.Op, Errno: syscall.EPERM, Worktree: a.cfg.Worktree}
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
