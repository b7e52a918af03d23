package lease

import (
	"context"
	"fmt"
	"time"
)

// Fence is what lets writers pass or not. The keeper calls it from one goroutine at a time and holds no lock that Held or
// Observe need.
type Fence interface {
	// Open lets writers of the grant pass until g.Deadline. Again with the same token after a loss of kind LossRenewFailed.
	Open(g Grant)
	// Extend moves the deadline of the open epoch t.
	Extend(t Token, deadline time.Duration)
	// Close returns only when no mutation of the epoch is in flight and the kernel's caches are invalidated. It may be called
	// again for an epoch that is closed already, with a graver kind.
	Close(l Loss)
	// Freeze makes the mutations of epoch t wait. It returns when none is in flight, and none is until thaw or Close. With
	// an error everything goes on as before. The keeper may call another method meanwhile; a Close ends the freeze.
	// thaw ends this very freeze and no other: t may have been closed, opened anew and frozen again since.
	Freeze(ctx context.Context, t Token) (thaw func(), err error)
}

// noFence is for a keeper without a mount.
type noFence struct{}

func (noFence) Open(Grant)                                    {}
func (noFence) Extend(Token, time.Duration)                   {}
func (noFence) Close(Loss)                                    {}
func (noFence) Freeze(context.Context, Token) (func(), error) { return func() {}, nil }

// Grant is a lease that is held here. A value.
type Grant struct {
	Token    Token
	Holder   Holder
	Record   Record
	Deadline time.Duration // on the boot clock; nothing may pass from then on
	// Late is asked after a mutation has taken effect: an error says that it may have been too late (rule 10). nil on tier A.
	Late func() error
}

// LossKind says why an epoch was closed.
type LossKind int

// The kinds of loss.
const (
	LossReleased    LossKind = iota // given back on purpose
	LossExpired                     // the deadline came
	LossSuperseded                  // a higher token was seen
	LossRenewFailed                 // may reopen with the same token
	LossHolderGone                  // the holder's process ended; released
	LossIdle                        // nobody wrote for a lease; released
	LossReplaced                    // another keeper goes on with it, under the same token
	LossHandedOver                  // given to somebody else, under the next token
)

// String is the kind's lower-case name.
func (k LossKind) String() string {
	names := [...]string{"released", "expired", "superseded", "renew failed", "holder gone", "idle", "replaced", "handed over"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("loss(%d)", int(k))
	}
	return names[k]
}

// gives says whether the record is given back, so that others need not wait for it to expire.
func (k LossKind) gives() bool { return k == LossReleased || k == LossHolderGone || k == LossIdle }

// event is the audit kind.
func (k LossKind) event() string {
	switch k {
	case LossExpired:
		return "expire"
	case LossSuperseded:
		return "superseded"
	case LossRenewFailed:
		return "renew_failed"
	}
	return "release"
}

// Loss is the end, or for LossRenewFailed the interruption, of an epoch.
type Loss struct {
	Kind   LossKind
	Token  Token
	Holder Holder
	Err    error // why, nil for a plain release
}

// Liveness is what is known of a holder's process.
type Liveness int

// What a holder's process may be.
const (
	Alive   Liveness = iota
	Stopped          // SIGSTOP or traced: its lease is not renewed
	Gone             // ended: its lease is given back
	Unknown          // another boot, host or pid namespace: taken for alive
)

// String is the liveness' lower-case name.
func (l Liveness) String() string {
	names := [...]string{"alive", "stopped", "gone", "unknown"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("liveness(%d)", int(l))
	}
	return names[l]
}

// Event is one entry for the audit log.
type Event struct {
	Kind            string // acquire | steal | renew_failed | release | expire | superseded | late_write | handover
	Worktree        WorktreeID
	Token, Previous Token
	Holder          Holder
	From            Holder // of a handover: who held before
	Reason          string
	Unclean         bool // taken over without proof that the old holder was drained
	At              time.Time
}
