package lockop

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// Waiting repeats an attempt to get a lease until a time.
type Waiting struct {
	Until   time.Time
	Wake    <-chan lease.Loss // nil: look at intervals only
	Observe func() (lease.Head, lease.Judgement)
	Live    func(lease.Holder) lease.Liveness // nil: not known
	Say     func(string) error                // called with the holder for whom it waits, and once for each reason why that may not be enough

	Turn      *wait.Ticket // the place in the queue of those who wait; nil: none
	Own       func() bool  // the lease is the caller's own, and may change hands out of turn
	OutOfTurn func() error // why the lease is not to be had yet
}

// releaseWait is how long to wait for a lease whose holder has ended, even without --wait. Its daemon gives it
// back at once, unless that is stopped.
const releaseWait = 2 * time.Second

// Run tries at least once. It ends with the grant, with a failure that waiting does not cure, with the last
// conflict when the time is over, or with ctx.
func (w Waiting) Run(ctx context.Context, try func() (lease.Grant, error)) (lease.Grant, error) {
	said, told := false, ""
	releasing := time.Now().Add(releaseWait)
	for {
		grant, err := w.attempt(try)
		if err == nil || !Waitable(err) {
			return grant, err
		}
		if time.Now().Before(releasing) && w.passesOn() {
			if err := w.sleep(ctx, 2*time.Millisecond); err != nil {
				return grant, err
			}
			continue
		}
		left := time.Until(w.Until)
		if left <= 0 {
			return grant, err
		}
		if !said {
			said = true
			if err := w.Say(w.sentence()); err != nil {
				return grant, err
			}
		}
		if stuck := lease.StuckOn(err); stuck != "" && stuck != told {
			told = stuck
			if err := w.Say("still waiting: " + human.Printable(stuck)); err != nil {
				return grant, err
			}
		}
		if err := w.sleep(ctx, min(left, pollInterval)); err != nil {
			return grant, err
		}
	}
}

// attempt tries if it is the caller's turn. Others may have asked before.
func (w Waiting) attempt(try func() (lease.Grant, error)) (lease.Grant, error) {
	if w.Turn != nil && w.turnsUp() != nil && !w.Own() {
		return lease.Grant{}, w.OutOfTurn()
	}
	return try()
}

// turnsUp returns a channel that is closed when the turn comes, or nil if it has come.
func (w Waiting) turnsUp() <-chan struct{} {
	if w.Turn == nil {
		return nil
	}
	come := w.Turn.Stand()
	if w.Turn.Mine() {
		return nil
	}
	return come
}

func (w Waiting) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.Wake:
	case <-w.turnsUp():
	case <-t.C:
	}
	return nil
}

// passesOn reports whether the holder of the lease has ended.
func (w Waiting) passesOn() bool {
	head, j := w.Observe()
	return w.Live != nil && j.State == lease.Held && head.Record != nil && w.Live(head.Record.Holder()) == lease.Gone
}

func (w Waiting) sentence() string {
	head, j := w.Observe()
	who := "its holder"
	if v := api.ViewOfRecord(head.Record); v != nil {
		who = human.Printable(v.HolderID)
		if v.Purpose != "" {
			who += " (" + human.Printable(v.Purpose) + ")"
		}
	}
	s := fmt.Sprintf("waiting for %s until %s", who, human.Clock(w.Until))
	if !j.Until.IsZero() {
		s += fmt.Sprintf("; its lease lasts until %s unless renewed", human.Clock(j.Until))
	}
	return s
}

// StillThere refuses to rob another lease than the agreed one; 0 agrees to any.
func StillThere(k *lease.Keeper, agreed lease.Token) error {
	head, _ := k.Observe()
	if agreed == 0 || head.Token == agreed {
		return nil
	}
	return &api.Failure{Class: lease.ClassFencingMismatch, Holder: api.ViewOfRecord(head.Record), File: head.File,
		Message: fmt.Sprintf("the lease changed hands while you were asked: token %d was shown, %d is the current one", agreed, head.Token),
		Next:    "look again: jvsfs lock status WORKTREE"}
}

// Waitable reports whether waiting alone can turn the failure into a grant. Clocks that contradict each other are among it: a record
// from the future is not from the future for ever, and every other doubt of the lease package ends after one silence. The stamp of a
// host that died without a word may be such a doubt.
func Waitable(err error) bool {
	switch lease.ClassOf(err) {
	case lease.ClassLockConflict, lease.ClassLockExpired, lease.ClassClockSkewExceeded:
		return true
	}
	return false
}

// pollInterval is how often a waiting request looks again. Another mount or host does not tell this daemon when
// it releases a lease.
const pollInterval = 250 * time.Millisecond
