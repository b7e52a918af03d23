package lease

import (
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Authority says whose turn it is to write to one worktree (rule 1). The files of the lock directory are one: [files], by the rules of
// the package comment. A keeper asks nothing else. What depends on this kernel alone is no part of it: the gate (rule 4), taints and
// the audit chain stay files. Safe for concurrent use.
type Authority interface {
	// Look reads the head and judges it (rules 5 to 7).
	Look() (Head, Judgement, error)
	// Observe is Look, but cheap: nothing is read if nothing can have changed. Its error is in Head.Unreadable.
	Observe() (Head, Judgement)
	// Still is the head that was last read, and whether it was free then and has not changed since as far as a cheap look tells.
	Still() (Head, bool)
	// Claim prepares the claim rec, whose token follows the head over. It binds nobody before [Tenure.Win].
	Claim(rec *record.Record, over Head) (Tenure, error)
	// Resume takes up the unreleased claim of h, which another keeper has made: the caller goes on with its lease.
	Resume(h Head) (Tenure, error)
	// Record is the record of a token, however its lease ended. [os.ErrNotExist]: it is gone.
	Record(t Token) (*record.Record, error)
	// Past is the claims from a token up to the head, oldest first, but the newest PastKept at most. It leaves out what cannot be read.
	Past(from, head Token) ([]Past, error)
}

// Tenure is a claim in the hands of who made it or resumed it. One goroutine at a time, but for Late's answer.
type Tenure interface {
	// Record is the record as it was last written. Not to be changed.
	Record() *record.Record
	// Head is the claim as a head that it is, for the claim that follows it.
	Head() Head
	// Is is whether h is this very claim.
	Is(h Head) bool
	// Stamp is when the authority's own clock says the record was last written (rule 7). Only asked where it has one.
	Stamp() (time.Time, error)

	// Win makes the claim the head, or says that another one is. e is what the audit is told of it.
	Win(e Event) (won bool, err error)
	// Publish shows the claim in the view, or a later one if there is one (rule 2).
	Publish() error
	// Repair shows the claim in the view if the view is absent or another's. The caller has found no successor.
	Repair() error

	// Check reads the record back. It must still be ours, and not be marked released by others.
	Check() (*record.Record, error)
	// Write replaces the record: a renewal, or an offer.
	Write(rec *record.Record) error
	// Over looks for a successor. If it finds one, the error's class is [ClassLockNotHeld]. A sure look costs more, and misses nothing.
	Over(sure bool) (found bool, err error)
	// From is the boot time from which the deadline counts, for what was written after t0. Never later than t0.
	From(t0 time.Duration) time.Duration
	// Late is Grant.Late (rule 10).
	Late() func() error

	// Release marks a claim released whose epoch has ended, and takes the view away (rule 11). If the claim is not ours any more, only
	// the view is taken away.
	Release(how Releasing) error
	// Lapse is told that the epoch has ended and the claim is not released: its time is over, or its holder may go on.
	Lapse()
	// Discard ends a claim that has not won.
	Discard()
	// Close frees what the claim needs here. The record stays.
	Close()
}

// Releasing is how a claim is released.
type Releasing struct {
	At    time.Time    // by the wall clock
	Brief bool         // it is not waited for on the disk (rule 11)
	Event Event        // what the audit is told of it
	Pause func(string) // see [KeeperConfig.Pause]
}

// unreleased reads the record back. It must be the same, not be released, and have no higher claim.
func unreleased(t Tenure) (*record.Record, error) {
	if found, err := t.Over(true); found || err != nil {
		return nil, err
	}
	rec, err := t.Check()
	if err == nil && rec.Released {
		err = lost(t, "the lease was released")
	}
	return rec, err
}

// lost says that a claim is not its holder's any more.
func lost(t Tenure, what string) error {
	return &Error{Class: ClassLockNotHeld, Worktree: t.Record().WorktreeID, File: t.Head().File, Message: what,
		Next: "acquire the lease again"}
}

// giveBack ends a claim whose epoch never opened. It drops errors: the claim then runs out.
func (k *Keeper) giveBack(c Tenure, e Event) {
	if k.keeps(c.Record()) == nil {
		_ = c.Release(Releasing{At: k.cfg.Clock.Wall(), Event: e, Pause: k.cfg.Pause})
	}
	c.Discard()
}
