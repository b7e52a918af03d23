package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// waiting repeats an attempt to get a lease until a time.
type waiting struct {
	until   time.Time
	wake    <-chan lease.Loss // nil: look at intervals only
	observe func() (lease.Head, lease.Judgement)
	live    func(lease.Holder) lease.Liveness // nil: not known
	say     func(string) error                // told once, for whom it waits
}

// passOnWait is how long a lease is waited for whose holder has ended, whatever was asked
// for: who keeps it gives it back at once, if that is not stopped.
const passOnWait = 2 * time.Second

// run tries at least once. It ends with the grant, with the failure that time
// does not cure, with the last conflict when the time is over, or with ctx.
func (w waiting) run(ctx context.Context, try func() (lease.Grant, error)) (lease.Grant, error) {
	said := false
	passing := time.Now().Add(passOnWait)
	for {
		grant, err := try()
		if err == nil || !waitable(err) {
			return grant, err
		}
		if time.Now().Before(passing) && w.passesOn() {
			if err := w.sleep(ctx, 2*time.Millisecond); err != nil {
				return grant, err
			}
			continue
		}
		left := time.Until(w.until)
		if left <= 0 {
			return grant, err
		}
		if !said {
			said = true
			if err := w.say(w.sentence()); err != nil {
				return grant, err
			}
		}
		if err := w.sleep(ctx, min(left, pollInterval)); err != nil {
			return grant, err
		}
	}
}

func (w waiting) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.wake:
	case <-t.C:
	}
	return nil
}

// passesOn reports whether the lease is held by nobody who is left.
func (w waiting) passesOn() bool {
	head, j := w.observe()
	return w.live != nil && j.State == lease.Held && head.Record != nil && w.live(head.Record.Holder()) == lease.Gone
}

func (w waiting) sentence() string {
	head, j := w.observe()
	who := "its holder"
	if v := viewOfRecord(head.Record); v != nil {
		who = printable(v.HolderID)
		if v.Purpose != "" {
			who += " (" + printable(v.Purpose) + ")"
		}
	}
	s := fmt.Sprintf("waiting for %s until %s", who, clockText(w.until))
	if !j.Until.IsZero() {
		s += fmt.Sprintf("; its lease lasts until %s unless renewed", clockText(j.Until))
	}
	return s
}

// stillThere refuses to rob somebody else than was agreed to; 0 is whoever it is.
func stillThere(k *lease.Keeper, agreed lease.Token) error {
	head, _ := k.Observe()
	if agreed == 0 || head.Token == agreed {
		return nil
	}
	return &failure{Class: lease.ClassFencingMismatch, Holder: viewOfRecord(head.Record), File: head.File,
		Message: fmt.Sprintf("the lease changed hands while you were asked: token %d was shown, %d is the current one", agreed, head.Token),
		Next:    "look again: jvsfs lock status WORKTREE"}
}

// waitable tells whether time alone may turn the failure into a grant.
func waitable(err error) bool {
	switch lease.ClassOf(err) {
	case "E_LOCK_CONFLICT", "E_LOCK_EXPIRED":
		return true
	}
	return false
}

// pollInterval is how often a waiting request looks again: a lease that another
// mount or host held is released without a word to this daemon.
const pollInterval = 250 * time.Millisecond
